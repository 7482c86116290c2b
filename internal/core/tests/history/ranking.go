package history

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

type testKey struct {
	httpapi.Place
	name string
}

// testTable has what is known of each test, within a bound.
type testTable[V any] struct {
	all        map[testKey]*V
	bytes, max int
	cut        bool // there was no room for a test
}

func newTestTable[V any](max int) testTable[V] { return testTable[V]{all: map[testKey]*V{}, max: max} }

// entry adds a test that is new. It returns nil if there is no room for it.
func (t *testTable[V]) entry(key testKey, file string) *V {
	known := t.all[key]
	if known != nil {
		return known
	}
	if t.bytes += statsCost + len(key.name) + len(file); t.bytes > t.max {
		t.cut = true
		return nil
	}
	known = new(V)
	t.all[key] = known
	return known
}

// Reliability counts how often tests failed or were repeated.
type Reliability struct {
	selection Selection
	tests     testTable[failures]
	runs      map[httpapi.Place]int // that count
}

// Cut reports whether there were more tests, or places, than are counted.
func (r *Reliability) Cut() bool { return r.tests.cut }

type failures struct {
	file          string
	failed, flaky int
	last          *time.Time
}

// NewReliability returns a count of the tests of a selection.
func NewReliability(s Selection) *Reliability {
	return &Reliability{selection: s, tests: newTestTable[failures](maxRanked), runs: map[httpapi.Place]int{}}
}

// Add takes a day, the newest first.
func (r *Reliability) Add(d *IndexedDay) {
	for i := range d.Places {
		p := &d.Places[i]
		if !r.selection.Has(p.Place) {
			continue
		}
		if _, known := r.runs[p.Place]; !known && len(r.runs) == MaxPlaces {
			r.tests.cut = true
			continue
		}
		c := d.columns(p)
		r.runs[p.Place] += len(c.ids)
		for _, t := range p.Failing {
			outcomes := c.outcomes(t.Outcomes)
			if !bytes.ContainsAny(outcomes, string(OutcomeFailed)+string(OutcomeFlaky)) {
				continue // it failed in a rerun only, whose run is of another day
			}
			if known := r.tests.entry(testKey{p.Place, t.Name}, t.File); known != nil {
				known.file = cmp.Or(known.file, t.File)
				known.count(d, c, outcomes)
			}
		}
	}
}

func (f *failures) count(d *IndexedDay, c columns, outcomes []byte) {
	last := -1
	for i, outcome := range outcomes {
		switch outcome {
		case OutcomeFailed:
			f.failed++
			last = i
		case OutcomeFlaky:
			f.flaky++
		}
	}
	if last >= 0 && f.last == nil {
		f.last = new(d.created(c.ids[last]))
	}
}

// Tests returns the tests, the least reliable first. Outcomes are left out: they need more reading.
func (r *Reliability) Tests() []httpapi.TestStats {
	all := make([]httpapi.TestStats, 0, len(r.tests.all))
	for key, t := range r.tests.all {
		all = append(all, httpapi.TestStats{
			Name: key.name, File: t.file, Place: key.Place, Runs: r.runs[key.Place], Failed: t.failed, Flaky: t.flaky, LastFailedAt: t.last,
		})
	}
	rate := func(t httpapi.TestStats) float64 {
		return (float64(t.Failed) + float64(t.Flaky)/2) / float64(max(t.Runs, 1))
	}
	slices.SortFunc(all, func(a, b httpapi.TestStats) int {
		return cmp.Or(cmp.Compare(rate(b), rate(a)), strings.Compare(a.Name, b.Name), ComparePlaces(a.Place, b.Place))
	})
	return all
}

// created is the zero time for a run that is not in the day.
func (d *IndexedDay) created(id string) time.Time {
	r := d.byID[id]
	if r == nil {
		return time.Time{}
	}
	at, _ := r.Created()
	return at
}

// slowness has the medians of the slowest tests of days.
type slowness struct {
	selection Selection
	table     testTable[slowTest]
}

type slowTest struct {
	file    string
	medians []int32 // of days
}

func newSlowness(s Selection) slowness {
	return slowness{selection: s, table: newTestTable[slowTest](maxSlowness)}
}

// add takes a day, the newest first. If only is not nil, it counts only these tests.
func (s *slowness) add(d *IndexedDay, only []httpapi.SlowTest) {
	for i := range d.Places {
		p := &d.Places[i]
		if !s.selection.Has(p.Place) {
			continue
		}
		for _, t := range p.Slowest {
			key := testKey{p.Place, t.Name}
			if only != nil && !slices.ContainsFunc(only, func(o httpapi.SlowTest) bool { return key == testKey{o.Place, o.Name} }) {
				continue
			}
			if known := s.table.entry(key, t.File); known != nil {
				if len(known.medians) == 0 {
					known.file = t.File // of the newest day
				}
				known.medians = append(known.medians, int32(min(max(t.Milliseconds, 0), math.MaxInt32)))
				s.table.bytes += 4
			}
		}
	}
}

// tests returns the tests with the largest median of the medians of their days.
func (s *slowness) tests() []httpapi.SlowTest {
	all := make([]httpapi.SlowTest, 0, len(s.table.all))
	for key, t := range s.table.all {
		all = append(all, httpapi.SlowTest{Name: key.name, File: t.file, Place: key.Place, MedianMilliseconds: int64(median(t.medians))})
	}
	slices.SortFunc(all, func(a, b httpapi.SlowTest) int {
		return cmp.Or(cmp.Compare(b.MedianMilliseconds, a.MedianMilliseconds), strings.Compare(a.Name, b.Name), ComparePlaces(a.Place, b.Place))
	})
	return slices.Clone(all[:min(len(all), maxRanking)])
}

// compare sets the change of tests against these days.
func (s *slowness) compare(tests []httpapi.SlowTest) {
	for i := range tests {
		t := &tests[i]
		if before := s.table.all[testKey{t.Place, t.Name}]; before != nil {
			if earlier := median(before.medians); earlier > 0 {
				t.Change = new(float64(t.MedianMilliseconds)/float64(earlier) - 1)
			}
		}
	}
}
