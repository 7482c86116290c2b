package runs

import (
	"context"
	"iter"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// merge joins two lists, newest first: the matching Suites, and the archived runs, whose records say whether they match.
type merge struct {
	*Reader
	query           Query
	team, namespace string
	owns            func(created time.Time) bool

	left []*v1alpha1.Suite // to show
	next func() (record.Run, error, bool)
	head *record.Run // of those in the archive; nil if it was taken, or there is none
	last *record.Run // that was looked at

	visited, reads int // of those in the archive
	ended          bool
}

func newMerge(r *Reader, team *v1alpha1.Team, q Query, suites []*v1alpha1.Suite) *merge {
	return &merge{Reader: r, query: q, team: team.Name, namespace: team.NamespaceName(), owns: team.Owns, left: suites}
}

// candidate matches if it has a Suite; if not, its record decides.
type candidate struct {
	run   record.Run
	suite *v1alpha1.Suite
}

// page looks at a bounded number of runs, so it may be short and still have a next one.
func (m *merge) page(ctx context.Context) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, m.LookupTimeout)
	defer cancel()
	next, stop := iter.Pull2(m.Archive.Runs(ctx, m.team, m.query.Before))
	defer stop()
	m.next = next
	page := Page{}
	for len(page.Entries) < m.query.Limit && m.within() {
		candidates, err := m.take(m.query.Limit - len(page.Entries))
		if err != nil {
			return page, err
		}
		matching, err := m.read(ctx, candidates)
		if err != nil {
			return page, err
		}
		page.Entries = append(page.Entries, matching...)
	}
	if !m.ended {
		page.Next = m.last
	}
	return page, nil
}

func (m *merge) within() bool {
	return !m.ended && m.visited < maxArchiveVisits && m.reads < MaxArchiveReads
}

func (m *merge) take(n int) (candidates []candidate, err error) {
	for len(candidates) < n && m.within() {
		before := m.last
		c, err := m.newest()
		if err != nil || m.ended {
			return candidates, err
		}
		if c.suite == nil {
			if before != nil && c.run.Compare(*before) == 0 || m.suites.has(m.namespace, c.run) {
				continue // shown as a Suite, or its Suite does not match
			}
			m.reads++
		}
		candidates = append(candidates, c)
	}
	return candidates, nil
}

// newest takes the newest run of both lists. One that is in both comes as a Suite first.
func (m *merge) newest() (candidate, error) {
	if m.head == nil {
		r, err, more := m.next()
		if err != nil {
			return candidate{}, err
		}
		if more && !m.owns(r.Created) { // nor the others, which are older
			m.next, more = func() (r record.Run, err error, more bool) { return }, false
		}
		if more {
			m.head = &r
		}
	}
	var c candidate
	switch {
	case len(m.left) > 0 && (m.head == nil || Position(m.left[0]).Compare(*m.head) >= 0):
		c = candidate{Position(m.left[0]), m.left[0]}
		m.left = m.left[1:]
	case m.head != nil:
		c.run, m.head = *m.head, nil
		m.visited++
	default:
		m.ended = true
		return c, nil
	}
	m.last = &c.run
	return c, nil
}

func (m *merge) read(ctx context.Context, candidates []candidate) (matching []Entry, err error) {
	var toRead []record.Run
	for _, c := range candidates {
		if c.suite == nil {
			toRead = append(toRead, c.run)
		}
	}
	found := map[string]httpapi.Run{}
	if len(toRead) > 0 {
		summaries, err := m.Archive.Summaries(ctx, toRead)
		if err != nil {
			return nil, err
		}
		for _, r := range summaries {
			found[Cursor(record.Run{ID: r.ID, Created: r.CreatedAt})] = r
		}
	}
	for _, c := range candidates {
		if c.suite != nil {
			matching = append(matching, Entry{Suite: c.suite})
			continue
		}
		if r, ok := found[Cursor(c.run)]; ok {
			if s := record.SuiteOf(r); m.query.Matches(s) {
				matching = append(matching, Entry{Suite: s, Archived: &r})
			}
		}
	}
	return matching, nil
}
