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
	was := openOf(members)
	members.ReplaceOrInsert(m)
	q.reopen(was, openOf(members))
}

func (q *Queue) quit(m *member) {
	if m.stream == (suite.Stream{}) {
		m.open = false
		q.regroup(m)
		return
	}
	members := q.streams[m.stream]
	was := openOf(members)
	members.Delete(m)
	q.reopen(was, openOf(members))
	if members.Len() == 0 {
		delete(q.streams, m.stream)
	}
}

func (q *Queue) reopen(was, is []*member) {
	for _, m := range was {
		if !slices.Contains(is, m) {
			m.open = false
			q.regroup(m)
		}
	}
	for _, m := range is {
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
		switch sibling := m.siblingOf(first); {
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
