package history

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// errNotFound means that a test is in no run of the days.
var errNotFound = fmt.Errorf("no run of these days has this test: %w", fs.ErrNotExist)

// Insights sums up days, and compares them with as many before.
func (r *Reader) Insights(ctx context.Context, team *v1alpha1.Team, q Query) (httpapi.Insights, error) {
	a, ctx, end, err := r.begin(ctx, team, q)
	if err != nil {
		return httpapi.Insights{}, err
	}
	defer end()
	all := history.Days(r.clock.Now(), 2*q.days())
	sums := history.NewInsightsBuilder(all[q.days():], all[:q.days()], q.selection())
	newest := slices.Clone(all)
	slices.Reverse(newest)
	known := places{}
	err = a.sum(ctx, newest, func(day int, d *history.IndexedDay) {
		sums.Add(d)
		if day < q.days() {
			a.cut = !known.add(day, d) || a.cut
		}
	})
	if err != nil {
		return httpapi.Insights{}, err
	}
	a.cut = a.cut || sums.Cut()
	answer := sums.Insights()
	answer.Problem = a.problem()
	return answer, a.details(ctx, newest, known, answer.LeastReliable)
}

// sum calls add for each day, the newest first.
func (a *answer) sum(ctx context.Context, days []string, add func(day int, d *history.IndexedDay)) error {
	return a.each(ctx, days, history.Parts{Rankings: true}, func(_ context.Context, d *history.IndexedDay) (func(), error) {
		return func() { add(slices.Index(days, d.Day.Day), d) }, nil
	})
}

// List returns the tests that failed or were repeated, the least reliable first; with a search, also others that the last day with tests
// has.
func (r *Reader) List(ctx context.Context, team *v1alpha1.Team, q Query) (httpapi.TestList, error) {
	a, ctx, end, err := r.begin(ctx, team, q)
	if err != nil {
		return httpapi.TestList{}, err
	}
	defer end()
	days := history.Days(r.clock.Now(), q.days())
	slices.Reverse(days)
	known, counts := places{}, history.NewReliability(q.selection())
	err = a.sum(ctx, days, func(day int, d *history.IndexedDay) {
		counts.Add(d)
		a.cut = !known.add(day, d) || a.cut
	})
	if err != nil {
		return httpapi.TestList{}, err
	}
	a.cut = a.cut || counts.Cut()
	all := slices.DeleteFunc(counts.Tests(), func(t httpapi.TestStats) bool { return !q.matches(t.Name) })
	if q.Search != "" {
		if all, err = a.search(ctx, days, known, all); err != nil {
			return httpapi.TestList{}, err
		}
	}
	list := httpapi.TestList{Days: q.days(), Tests: []httpapi.TestStats{}, Problem: a.problem()}
	from := min(q.offset(), len(all))
	list.Tests = append(list.Tests, all[from:min(from+q.Limit, len(all))]...)
	if from+q.Limit < len(all) {
		list.Next = cursor(from + q.Limit)
	}
	return list, a.details(ctx, days, known, list.Tests)
}

const (
	// maxFound bounds the tests that a search finds in a place: people do not look through more.
	maxFound = 1000

	// foundBytes bounds all that it finds. Places have equal shares: a test has some 300 bytes.
	foundBytes, foundCost = 3 << 19, 224
)

// search adds tests that passed, from the last day on which a place had tests.
func (a *answer) search(ctx context.Context, days []string, known places, failing []httpapi.TestStats) ([]httpapi.TestStats, error) {
	type key struct {
		httpapi.Place
		name string
	}
	listed := map[key]bool{}
	for _, t := range failing {
		listed[key{t.Place, t.Name}] = true
	}
	last := known.lastWhole(days)
	found := map[httpapi.Place][]httpapi.TestStats{}
	err := a.each(ctx, only(days, last), history.Parts{}, func(ctx context.Context, d *history.IndexedDay) (func(), error) {
		here := make([][]httpapi.TestStats, len(d.Places))
		err := atOnce(ctx, len(d.Places), func(ctx context.Context, i int) error {
			pd := &d.Places[i]
			if !last[d.Day.Day][pd.Place] {
				return nil
			}
			room, runs := foundBytes/len(known), known[pd.Place].runs()
			return a.reading(ctx, pd, func() error {
				return a.archive.TestsOn(ctx, a.team.Name, d.Day.Day, pd, a.query.Search, func(t history.TestDay) {
					if d.See(t, pd) == nil || len(here[i]) == maxFound || !a.query.matches(t.Name) || listed[key{pd.Place, t.Name}] {
						return
					}
					if room -= foundCost + len(t.Name) + len(t.File); room >= 0 {
						here[i] = append(here[i], httpapi.TestStats{Name: t.Name, File: t.File, Place: pd.Place, Runs: runs})
					}
				})
			})
		})
		return func() {
			for i, tests := range here {
				if len(tests) > 0 {
					found[d.Places[i].Place] = tests
				}
			}
		}, err
	})
	var passed []httpapi.TestStats
	for _, p := range known.sorted() {
		passed = append(passed, found[p.Place]...)
	}
	slices.SortStableFunc(passed, func(a, b httpapi.TestStats) int { return strings.Compare(a.Name, b.Name) })
	return append(failing, passed...), err
}

// Test returns the history of a test, in the places where it was on the last day that has tests, or else on any day.
func (r *Reader) Test(ctx context.Context, team *v1alpha1.Team, name string, q Query) (httpapi.TestHistory, error) {
	a, ctx, end, err := r.begin(ctx, team, q)
	if err != nil {
		return httpapi.TestHistory{}, err
	}
	defer end()
	days := history.Days(r.clock.Now(), q.days())
	slices.Reverse(days)
	s := testSearch{answer: a, name: name, builder: history.NewTestBuilder(), places: map[httpapi.Place]*presence{}}
	// The first days show in which places the test is no longer, so that later ones are read for the others only.
	for _, part := range [][]string{days[:1], days[1:min(4, len(days))], days[min(4, len(days)):]} {
		if err := a.each(ctx, part, history.Parts{Commits: true, Blocks: true}, s.day); err != nil {
			return httpapi.TestHistory{}, err
		}
	}
	a.cut = a.cut || s.builder.Cut
	h := s.builder.History(name, q.days(), s.shown())
	h.Problem = a.problem()
	if len(h.Places) == 0 {
		return h, errNotFound
	}
	return h, nil
}
