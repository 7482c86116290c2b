package endpoint

import (
	"context"
	"iter"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/record"
)

// merge makes one list of two, both newest first: the Suites that match, and the runs in the archive, which have to
// be read to know whether they match. Most runs are in both.
type merge struct {
	*API
	query           runsQuery
	team, namespace string

	suites []*v1alpha1.Suite // left to show
	next   func() (record.Run, error, bool)
	head   *record.Run // of those in the archive; nil if it was taken, or there is none
	last   *record.Run // that was looked at

	visited, reads int // of those in the archive
	ended          bool
}

func newMerge(a *API, team *v1alpha1.Team, q runsQuery, suites []*v1alpha1.Suite) *merge {
	return &merge{API: a, query: q, team: team.Name, namespace: team.NamespaceName(), suites: suites}
}

// candidate is a run that matches if it has a Suite, and may match otherwise.
type candidate struct {
	run   record.Run
	suite *v1alpha1.Suite
}

// page looks at a bounded number of runs, so it may be short and still have a next one.
func (m *merge) page(ctx context.Context) (httpapi.Runs, error) {
	ctx, cancel := context.WithTimeout(ctx, m.Limits.LookupTimeout)
	defer cancel()
	next, stop := iter.Pull2(m.Archive.Runs(ctx, m.team, m.query.before))
	defer stop()
	m.next = next
	page := httpapi.Runs{Runs: []httpapi.Run{}}
	for len(page.Runs) < m.query.limit && m.within() {
		candidates, err := m.take(m.query.limit - len(page.Runs))
		if err != nil {
			return page, err
		}
		matching, err := m.read(ctx, candidates)
		if err != nil {
			return page, err
		}
		page.Runs = append(page.Runs, matching...)
	}
	if !m.ended && m.last != nil {
		page.Next = cursorOf(*m.last)
	}
	return page, nil
}

// within reports whether to look further.
func (m *merge) within() bool {
	return !m.ended && m.visited < maxArchiveVisits && m.reads < maxArchiveReads
}

// take returns at most n candidates, the newest of both lists.
func (m *merge) take(n int) (candidates []candidate, err error) {
	for len(candidates) < n && m.within() {
		before := m.last
		c, err := m.newest()
		if err != nil || m.ended {
			return candidates, err
		}
		if c.suite == nil {
			if before != nil && c.run.Compare(*before) == 0 || m.index.has(m.namespace, c.run) {
				continue // shown as a Suite, or its Suite does not match
			}
			m.reads++
		}
		candidates = append(candidates, c)
	}
	return candidates, nil
}

// newest takes the newest run of both lists. A run that is in both comes as a Suite first.
func (m *merge) newest() (candidate, error) {
	if m.head == nil {
		r, err, more := m.next()
		if err != nil {
			return candidate{}, err
		}
		if more {
			m.head = &r
		}
	}
	var c candidate
	switch {
	case len(m.suites) > 0 && (m.head == nil || position(m.suites[0]).Compare(*m.head) >= 0):
		c = candidate{position(m.suites[0]), m.suites[0]}
		m.suites = m.suites[1:]
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

// read returns the candidates that match.
func (m *merge) read(ctx context.Context, candidates []candidate) (matching []httpapi.Run, err error) {
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
			found[cursorOf(record.Run{ID: r.ID, Created: r.CreatedAt})] = r
		}
	}
	for _, c := range candidates {
		if c.suite != nil {
			matching = append(matching, m.withURL(record.RunOf(m.team, c.suite)))
		} else if r, ok := found[cursorOf(c.run)]; ok && m.query.filter.matchesRun(r) {
			matching = append(matching, m.withURL(r))
		}
	}
	return matching, nil
}
