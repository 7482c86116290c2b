package queue

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// deployedBefore orders members like ledger.Compare: otherwise a run might wait for one that waits for it.
func deployedBefore(a, b *member) bool {
	return a.deployed < b.deployed || a.deployed == b.deployed && requestedBefore(a, b)
}

func (q *Queue) join(m *member) {
	if m.stream == (suite.Stream{}) {
		m.open = true
		q.regroup(m)
		return
	}
	members := q.streams[m.stream]
	if members == nil {
		members = newSorted(deployedBefore)
		q.streams[m.stream] = members
	}
	earlier := openOf(members)
	members.ReplaceOrInsert(m)
	q.reopen(earlier, openOf(members))
}

func (q *Queue) quit(m *member) {
	if m.stream == (suite.Stream{}) {
		m.open = false
		q.regroup(m)
		return
	}
	members := q.streams[m.stream]
	earlier := openOf(members)
	members.Delete(m)
	q.reopen(earlier, openOf(members))
	if members.Len() == 0 {
		delete(q.streams, m.stream)
	}
}

func (q *Queue) reopen(earlier, now []*member) {
	for _, m := range earlier {
		if !slices.Contains(now, m) {
			m.open = false
			q.regroup(m)
		}
	}
	for _, m := range now {
		m.open = true
		q.regroup(m)
	}
}

// openOf returns the oldest run of a stream and its siblings, up to a run that is a sibling of neither: they wait for none of it.
func openOf(members *sorted) []*member {
	first, ok := members.Min()
	if !ok {
		return nil
	}
	open := []*member{first}
	if first.stream.Trigger != "" {
		return open // siblings have different Triggers
	}
	var second *member
	members.AscendGreaterOrEqual(first, func(m *member) bool {
		sibling := m.siblingOf(first)
		switch {
		case m == first:
		case !sibling && second == nil:
			second = m
		case sibling && (second == nil || m.siblingOf(second)):
			open = append(open, m)
		}
		return second == nil || second.request == first.request
	})
	return open
}

func (m *member) siblingOf(other *member) bool {
	return m.request != "" && m.request == other.request && m.trigger != other.trigger
}
