package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	historyRuns                 = 50             // how many runs a history covers
	failingTests                = 5              // how many of the most frequent failures a history names
	barWidth, barGap, barHeight = 6.0, 2.0, 24.0 // in the units of the history's own drawing
)

// History sums up the last runs of a Trigger. A run counts once, with its reruns, retries and repetitions.
type History struct {
	Bars     []Bar // of each attempt, oldest first
	Width    float64
	Runs     int    // that have a result
	PassRate string // 96%; empty without a result
	Passed   string // 48 of 50 runs
	Median   string // duration; empty without a result
	Typical  time.Duration
	Failing  []FailingTest

	Repeated  int // runs in which tests passed only when they were repeated
	Sometimes int // tests that failed, passed and failed again
}

// Bar is a run in a history: its height is its duration. Runs that passed go up, others down.
type Bar struct {
	ID, Namespace string
	Title         string // for the pointer
	Key           string
	X, Y, Height  float64
}

// FailingTest is a test that failed in several runs.
type FailingTest struct {
	Name      string
	Runs      int
	Failed    string // failed in 2 of 7 runs
	Sometimes bool   // it passed in between
}

// HistoryOf returns the history of runs of one Trigger, which come newest first.
func HistoryOf(runs []*v1alpha1.Suite, now time.Time) History {
	runs = runs[:min(len(runs), historyRuns)]
	h := History{Width: float64(len(runs)) * (barWidth + barGap)}
	var took []time.Duration
	passed, families := 0, familiesOf(runs)
	for _, f := range families {
		if f.result == nil {
			continue
		}
		h.Runs++
		if StateOf(f.result).Green {
			passed++
		}
		if f.typical != nil {
			took = append(took, Took(f.typical, now))
		}
		if f.repeated() {
			h.Repeated++
		}
	}
	if h.Runs > 0 {
		h.PassRate, h.Passed = plaintext.Percent(passed, h.Runs), plaintext.Share(passed, h.Runs, "run")
	}
	if len(took) > 0 {
		slices.Sort(took)
		h.Typical = took[len(took)/2]
		h.Median = Duration(h.Typical)
	}
	h.addFailing(families)
	h.Bars = bars(runs, now)
	return h
}

func bars(runs []*v1alpha1.Suite, now time.Time) []Bar {
	longest := time.Second
	for _, s := range runs {
		longest = max(longest, Took(s, now))
	}
	all := make([]Bar, 0, len(runs))
	for i, s := range slices.Backward(runs) {
		state, took := StateOf(s), Took(s, now)
		bar := Bar{ID: s.Name, Namespace: s.Namespace, Key: state.Key, X: float64(len(runs)-1-i) * (barWidth + barGap)}
		bar.Height = 3 + (barHeight-3)*float64(took)/float64(longest)
		if bar.Y = barHeight; !state.Bad {
			bar.Y -= bar.Height
		}
		bar.Title = fmt.Sprintf("%s, %s", state.Label, Ago(s.Received().Time, now))
		if took > 0 {
			bar.Title = fmt.Sprintf("%s in %s, %s", state.Label, Duration(took), Ago(s.Received().Time, now))
		}
		all = append(all, bar)
	}
	return all
}

// addFailing finds the tests that failed in several runs, most frequent first. Those that passed in between fail only sometimes.
func (h *History) addFailing(families []*family) {
	var all []FailingTest
	byName, reported := failuresByName(families)
	for _, r := range byName {
		if r.Runs > 1 {
			r.Failed = "failed in " + plaintext.Share(r.Runs, reported, "run")
			all = append(all, r.FailingTest)
		}
		if r.Sometimes {
			h.Sometimes++
		}
	}
	slices.SortFunc(all, func(a, b FailingTest) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name)) })
	h.Failing = all[:min(len(all), failingTests)]
}

type failures struct {
	FailingTest
	last int // index of the run in which it failed last
}

// failuresByName also returns how many runs reported tests.
func failuresByName(families []*family) (byName map[string]*failures, reported int) {
	byName = map[string]*failures{}
	for _, f := range families {
		if f.end == nil {
			continue
		}
		reported++
		for _, test := range f.end.Failures {
			r := byName[test.Name]
			if r == nil {
				r = &failures{FailingTest: FailingTest{Name: test.Name}, last: reported}
				byName[test.Name] = r
			}
			r.Sometimes = r.Sometimes || reported-r.last > 1
			r.Runs++
			r.last = reported
		}
	}
	return byName, reported
}
