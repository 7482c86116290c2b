package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/history"
)

// ErrNotFound means that a test is in no run of the days.
var ErrNotFound = fmt.Errorf("no run of these days has this test: %w", fs.ErrNotExist)

// Insights sums up days, and compares them with as many before.
func (r *Reader) Insights(ctx context.Context, team *v1alpha1.Team, q Query) (httpapi.Insights, error) {
	ctx, end, err := r.begin(ctx, team.Name)
	if err != nil {
		return httpapi.Insights{}, err
	}
	defer end()
	all := history.Days(r.clock.Now(), 2*q.days())
	before, days := all[:q.days()], all[q.days():]
	known, err := r.read(ctx, team, all)
	if err != nil {
		return httpapi.Insights{}, err
	}
	answer := history.InsightsOf(days, before, known.days, q.selection())
	answer.Problem = known.problem()
	err = r.details(ctx, team.Name, known.places(days, q.selection()), answer.LeastReliable)
	return answer, err
}

// details adds the last outcomes to the figures of tests.
func (r *Reader) details(ctx context.Context, team string, places []place, stats []httpapi.TestStats) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce / 2) // each of them reads two days at once
	for i := range stats {
		at := slices.IndexFunc(places, func(p place) bool { return p.Place == stats[i].Place })
		if at < 0 {
			continue
		}
		group.Go(func() error {
			seen, all, err := r.seen(ctx, team, stats[i].Name, places[at], history.StripRuns)
			if err == nil {
				history.Describe(&stats[i], seen, all)
			}
			return err
		})
	}
	return group.Wait()
}

// List returns the tests that failed or were repeated, the least reliable first; with a search, also others that the last day with tests has.
func (r *Reader) List(ctx context.Context, team *v1alpha1.Team, q Query) (httpapi.TestList, error) {
	ctx, end, err := r.begin(ctx, team.Name)
	if err != nil {
		return httpapi.TestList{}, err
	}
	defer end()
	days := history.Days(r.clock.Now(), q.days())
	known, err := r.read(ctx, team, days)
	if err != nil {
		return httpapi.TestList{}, err
	}
	places := known.places(days, q.selection())
	all := history.FailingTests(days, known.days, q.selection())
	all = slices.DeleteFunc(all, func(t httpapi.TestStats) bool { return !q.matches(t.Name) })
	if q.Search != "" {
		if all, err = r.search(ctx, team.Name, places, q, all); err != nil {
			return httpapi.TestList{}, err
		}
	}
	list := httpapi.TestList{Days: q.days(), Tests: []httpapi.TestStats{}, Problem: known.problem()}
	from := min(q.offset(), len(all))
	list.Tests = append(list.Tests, all[from:min(from+q.Limit, len(all))]...)
	if from+q.Limit < len(all) {
		list.Next = cursor(from + q.Limit)
	}
	return list, r.details(ctx, team.Name, places, list.Tests)
}

// maxFound bounds the tests that a search finds in a place: nobody looks through more.
const maxFound = 1000

// search adds tests that passed, from the last day on which a place had tests.
func (r *Reader) search(ctx context.Context, team string, places []place, q Query, failing []httpapi.TestStats) ([]httpapi.TestStats, error) {
	type key struct {
		httpapi.Place
		name string
	}
	listed := map[key]bool{}
	for _, t := range failing {
		listed[key{t.Place, t.Name}] = true
	}
	found := make([][]httpapi.TestStats, len(places))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, p := range places {
		group.Go(func() error {
			runs := 0
			for _, d := range p.days {
				runs += len(d.in.Runs)
			}
			last := p.lastWhole()
			err := r.archive.TestsOn(ctx, team, last.day.Day, last.in, q.Search, func(t history.TestDay) {
				_, own := t.Only(last.in, last.runs)
				if own && len(found[i]) < maxFound && q.matches(t.Name) && !listed[key{p.Place, t.Name}] {
					found[i] = append(found[i], httpapi.TestStats{Name: t.Name, File: t.File, Place: p.Place, Runs: runs})
				}
			})
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, history.ErrUnreadable) {
				return nil // the day is being summarized again
			}
			if err != nil {
				return &ArchiveError{err}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	passed := slices.Concat(found...)
	slices.SortStableFunc(passed, func(a, b httpapi.TestStats) int { return strings.Compare(a.Name, b.Name) })
	return append(failing, passed...), nil
}

// Test returns the history of a test, in the places where it was on the last day that has tests, or else on any day.
func (r *Reader) Test(ctx context.Context, team *v1alpha1.Team, name string, q Query) (httpapi.TestHistory, error) {
	ctx, end, err := r.begin(ctx, team.Name)
	if err != nil {
		return httpapi.TestHistory{}, err
	}
	defer end()
	days := history.Days(r.clock.Now(), q.days())
	known, err := r.read(ctx, team, days)
	if err != nil {
		return httpapi.TestHistory{}, err
	}
	places := known.places(days, q.selection())
	recent, err := r.inPlaces(ctx, team.Name, name, places)
	if err == nil && len(recent) == 0 {
		recent = places
	}
	var all []history.Seen
	for _, p := range recent {
		seen, _, seenErr := r.seen(ctx, team.Name, name, p, 0)
		if err = errors.Join(err, seenErr); err != nil {
			return httpapi.TestHistory{}, err
		}
		all = append(all, seen)
	}
	h := history.TestOf(name, q.days(), all)
	h.Problem = known.problem()
	if len(h.Places) == 0 {
		return h, ErrNotFound
	}
	return h, err
}

// inPlaces returns the places that had the test on the last day on which they ran all tests.
func (r *Reader) inPlaces(ctx context.Context, team, name string, places []place) ([]place, error) {
	had := make([]bool, len(places))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, p := range places {
		group.Go(func() error {
			seen, err := r.seenOn(ctx, team, name, p.lastWhole())
			had[i] = seen != nil
			return err
		})
	}
	err := group.Wait()
	var all []place
	for i, p := range places {
		if had[i] {
			all = append(all, p)
		}
	}
	return all, err
}
