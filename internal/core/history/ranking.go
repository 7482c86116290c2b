package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

type testKey struct {
	httpapi.Place
	name string
}

// leastReliable returns the tests that failed in the largest part of the runs of their place. Outcomes are left out: they need more reading.
func leastReliable(days []string, known map[string]*Day, s Selection, limit int) []httpapi.TestStats {
	all := FailingTests(days, known, s)
	return all[:min(len(all), limit)]
}

// FailingTests returns the tests that failed or were repeated, the least reliable first. Runs are all of the place that list their tests.
func FailingTests(days []string, known map[string]*Day, s Selection) []httpapi.TestStats {
	stats := map[testKey]*httpapi.TestStats{}
	runs := map[httpapi.Place]int{}
	for _, day := range days {
		d := known[day]
		if d == nil {
			continue
		}
		at := d.times()
		for i := range d.Places {
			p := &d.Places[i]
			if !s.Has(p.Place) {
				continue
			}
			runs[p.Place] += whole(d, p)
			for _, t := range p.Failing {
				key := testKey{p.Place, t.Name}
				if stats[key] == nil {
					stats[key] = &httpapi.TestStats{Name: t.Name, Place: p.Place}
				}
				count(stats[key], p, t, at)
			}
		}
	}
	all := make([]httpapi.TestStats, 0, len(stats))
	for key, t := range stats {
		t.Runs = runs[key.Place]
		all = append(all, *t)
	}
	rate := func(t httpapi.TestStats) float64 {
		return (float64(t.Failed) + float64(t.Flaky)/2) / float64(max(t.Runs, 1))
	}
	slices.SortFunc(all, func(a, b httpapi.TestStats) int {
		return cmp.Or(cmp.Compare(rate(b), rate(a)), strings.Compare(a.Name, b.Name), ComparePlaces(a.Place, b.Place))
	})
	return all
}

// whole returns the number of runs of a place that ran all tests.
func whole(d *Day, p *PlaceDay) (n int) {
	partial := map[string]bool{}
	for _, r := range d.Runs {
		partial[r.ID] = r.Partial
	}
	for _, id := range p.Runs {
		if isPartial, known := partial[id]; known && !isPartial {
			n++
		}
	}
	return n
}

// HasWhole reports whether a place has a run on the day that ran all tests.
func (d *Day) HasWhole(p *PlaceDay) bool { return whole(d, p) > 0 }

func count(stats *httpapi.TestStats, p *PlaceDay, t FailingTest, at map[string]time.Time) {
	stats.File = cmp.Or(t.File, stats.File)
	for i, outcome := range []byte(t.Outcomes[:min(len(t.Outcomes), len(p.Runs))]) {
		switch outcome {
		case OutcomeFailed:
			stats.Failed++
			stats.LastFailedAt = new(at[p.Runs[i]])
		case OutcomeFlaky:
			stats.Flaky++
		}
	}
}

// times are when the runs of the day were created.
func (d *Day) times() map[string]time.Time {
	all := make(map[string]time.Time, len(d.Runs))
	for _, r := range d.Runs {
		if at, err := r.Created(); err == nil {
			all[r.ID] = at
		}
	}
	return all
}

// slowestOf returns the tests with the largest median of the medians of their days, among the slowest of these.
func slowestOf(days, before []string, known map[string]*Day, s Selection) []httpapi.SlowTest {
	now, then := slowMedians(days, known, s), slowMedians(before, known, s)
	all := make([]httpapi.SlowTest, 0, len(now))
	for key, t := range now {
		slow := httpapi.SlowTest{Name: key.name, File: t.file, Place: key.Place, MedianMilliseconds: median(t.medians)}
		if was := then[key]; was != nil {
			if earlier := median(was.medians); earlier > 0 {
				slow.Change = new(float64(slow.MedianMilliseconds)/float64(earlier) - 1)
			}
		}
		all = append(all, slow)
	}
	slices.SortFunc(all, func(a, b httpapi.SlowTest) int {
		return cmp.Or(cmp.Compare(b.MedianMilliseconds, a.MedianMilliseconds), strings.Compare(a.Name, b.Name), ComparePlaces(a.Place, b.Place))
	})
	return all[:min(len(all), maxRanking)]
}

type slowTest struct {
	file    string
	medians []int64
}

func slowMedians(days []string, known map[string]*Day, s Selection) map[testKey]*slowTest {
	all := map[testKey]*slowTest{}
	for _, day := range days {
		d := known[day]
		if d == nil {
			continue
		}
		for _, p := range d.Places {
			if !s.Has(p.Place) {
				continue
			}
			for _, t := range p.Slowest {
				key := testKey{p.Place, t.Name}
				if all[key] == nil {
					all[key] = &slowTest{}
				}
				all[key].file, all[key].medians = t.File, append(all[key].medians, t.Milliseconds)
			}
		}
	}
	return all
}
