package history_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

var smoke = httpapi.Place{Namespace: "shop", Trigger: "smoke", Environment: "staging"}

func runAt(place httpapi.Place, id string, at time.Time, state string) history.Run {
	return history.Run{
		ID: id, Place: place, CreatedAt: at.Format("2006-01-02T15:04:05Z"), State: state, Listed: true, Tests: 1,
		SHA: strings.Repeat(id[len(id)-1:], 40), Branch: "main", CommitURL: "https://github.com/acme/shop/commit/" + strings.Repeat(id[len(id)-1:], 40),
	}
}

// dayOf has a run of the place for each outcome of the test, an hour apart.
func dayOf(place httpapi.Place, day time.Time, first byte, name, outcomes string) *history.Day {
	var runs []history.Run
	for i := range outcomes {
		id := place.Trigger + "-" + string(first+byte(i))
		runs = append(runs, runAt(place, id, day.Add(time.Duration(i)*time.Hour), "Passed"))
	}
	b, chosen := history.NewPlaceBuilder(place, runs)
	for i, r := range chosen {
		b.Begin(r.ID)
		if outcomes[i] == '-' {
			continue
		}
		t := parse("x " + outcomes[i:i+1])
		t.Name, t.File, t.Milliseconds = name, "cart.spec.ts", int64(100*(i+1))
		if t.State == httpapi.TestFailed {
			t.Message, t.Text = "expected 200", "at line "+fmt.Sprint(i)
		}
		b.Add(t)
	}
	summary, content := b.Finish()
	d := history.NewDay("acme", day.Format("2006-01-02"), runs, []history.PlaceDay{summary})
	contents[summary.Object] = content
	return &d
}

var contents = map[string][]byte{} // of the objects of places, by their hash

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// seen are the days of a test, the newest first.
func seen(t fataler, place httpapi.Place, name string, days ...*history.Day) (all []history.SeenDay) {
	t.Helper()
	for _, d := range slices.Backward(days) {
		day := d.Index()
		p := day.Place(place)
		from, to, ok := p.BlockOf(name)
		if !ok {
			continue
		}
		test, found, err := p.FindTest(bytes.NewReader(contents[p.Object][from:to]), name)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			all = append(all, *day.See(test, p))
		}
	}
	return all
}

func historyOf(t fataler, place httpapi.Place, name string, days ...*history.Day) httpapi.TestHistory {
	t.Helper()
	b := history.NewTestBuilder()
	addTo(t, b, place, name, days...)
	return b.History(name, 30, func(httpapi.Place) bool { return true })
}

func addTo(t fataler, b *history.TestBuilder, place httpapi.Place, name string, days ...*history.Day) {
	t.Helper()
	for _, d := range days {
		all := d.Index()
		b.AddRuns(place, all.CountedRuns(all.Place(place)))
	}
	for _, d := range seen(t, place, name, days...) {
		b.Add(d)
	}
}

func TestHistoryOfATest(t *testing.T) {
	monday := tuesday.AddDate(0, 0, -1)
	for name, tc := range map[string]struct {
		reason         string
		monday, today  string // outcomes of runs a, b, ... and k, l, ...
		first, before  string // runs
		inARow         int
		passed, failed int
		flips          int
		medianMS       int64
	}{
		"passes":               {"", "ppp", "pp", "", "", 0, 5, 0, 0, 200},
		"began today":          {"The run before is of the day before.", "ppp", "ff", "k", "c", 2, 3, 2, 1, 200},
		"began in the middle":  {"", "p", "pff", "l", "k", 2, 2, 2, 1, 100},
		"always failed":        {"It is not known to have passed.", "ff", "f", "a", "", 3, 0, 3, 0, 100},
		"comes and goes":       {"The last row counts.", "pfpf", "pf", "l", "k", 1, 3, 3, 5, 200},
		"was fixed":            {"It passes now.", "ff", "p", "", "", 0, 1, 2, 1, 100},
		"skipped last":         {"A run that skips it says nothing.", "pf", "ss", "b", "a", 1, 1, 1, 1, 100},
		"absent between":       {"So does one that does not have it.", "p-f", "-f", "c", "a", 2, 1, 2, 1, 200},
		"repeated, and passed": {"Flaky is no failure.", "pr", "f", "k", "b", 1, 2, 1, 1, 100},
		"new today":            {"It was on no other day.", "---", "pf", "l", "k", 1, 1, 1, 1, 100},
	} {
		t.Run(name, func(t *testing.T) {
			test := "cart > keeps \"items\" <b>"
			days := []*history.Day{dayOf(smoke, monday, 'a', test, tc.monday), dayOf(smoke, tuesday, 'k', test, tc.today)}
			h := historyOf(t, smoke, test, days...)
			if len(h.Places) != 1 || h.File != "cart.spec.ts" {
				t.Fatalf("%+v", h)
			}
			in := h.Places[0]
			first, before, inARow := "", "", 0
			if in.Failing != nil {
				first, inARow = strings.TrimPrefix(in.Failing.First.ID, "smoke-"), in.Failing.Runs
				if in.Failing.Before != nil {
					before = strings.TrimPrefix(in.Failing.Before.ID, "smoke-")
				}
			}
			got := fmt.Sprint(first, " ", before, " ", inARow, in.Passed, in.Failed, in.Flips, in.MedianMilliseconds)
			if want := fmt.Sprint(tc.first, " ", tc.before, " ", tc.inARow, tc.passed, tc.failed, tc.flips, tc.medianMS); got != want {
				t.Errorf("%s\n%s, want %s\n%+v", tc.reason, got, want, in)
			}
			if first != "" && before != "" {
				if want := "https://github.com/acme/shop/compare/" + strings.Repeat(before, 40) + "..." + strings.Repeat(first, 40); in.Failing.CompareURL != want {
					t.Errorf("compared at %s, want %s", in.Failing.CompareURL, want)
				}
			}
			if in.Failed > 0 && (len(in.Failures) != 1 || in.Failures[0].Times != in.Failed || in.Failures[0].Message != "expected 200" || in.Failures[0].Text == "") {
				t.Errorf("%+v", in.Failures)
			}
			if !slices.IsSortedFunc(in.Last, func(a, b httpapi.TestRun) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
				t.Error("the last run is not the first")
			}
		})
	}
}

// TestCompare: two commits of a repository are compared, however it is spelled.
func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		before, first, sha string // repositories, and the SHA before
		want               bool
	}{
		"of a repository":           {"acme/shop", "acme/shop", "", true},
		"in another spelling":       {"Acme/Shop", "acme/shop", "", true},
		"of another repository":     {"acme/pay", "acme/shop", "", false},
		"the commit itself":         {"acme/shop", "acme/shop", strings.Repeat("B", 40), false},
		"of no repository":          {"", "", "", true},
		"of a repository, and none": {"", "acme/shop", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := dayOf(smoke, tuesday, 'a', "cart", "pf")
			d.Runs[0].Repository, d.Runs[1].Repository = tc.before, tc.first
			d.Runs[0].SHA = cmp.Or(tc.sha, d.Runs[0].SHA)
			url := historyOf(t, smoke, "cart", d).Places[0].Failing.CompareURL
			if (url != "") != tc.want {
				t.Errorf("compared at %q", url)
			}
		})
	}
}

// TestEveryTestIsFound in its block, with its outcomes, whatever its name and however many there are.
func TestEveryTestIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 40, 200), 1, 30, rapid.ID[string]).Draw(t, "names")
		padding := strings.Repeat("x", rapid.SampledFrom([]int{0, 20_000}).Draw(t, "padding")) // makes several blocks
		runs := rapid.IntRange(1, 4).Draw(t, "runs")
		want := map[string]string{}
		var listed []history.Run
		for i := range runs {
			listed = append(listed, runAt(smoke, fmt.Sprintf("smoke-%d", i), tuesday, "Passed"))
		}
		b, _ := history.NewPlaceBuilder(smoke, listed)
		for i := range runs {
			b.Begin(listed[i].ID)
			for _, name := range names {
				outcome := rapid.SampledFrom([]string{"p", "f", "r", "s", "-"}).Draw(t, "outcome")
				want[name] += outcome
				if outcome != "-" {
					test := parse("x " + outcome)
					test.Name, test.Message = name, padding
					b.Add(test)
				}
			}
		}
		p, content := b.Finish()
		for name, outcomes := range want {
			var got history.TestDay
			found := false
			if from, to, ok := p.BlockOf(name); ok {
				var err error
				if got, found, err = p.FindTest(bytes.NewReader(content[from:to]), name); err != nil {
					t.Fatal(err)
				}
			}
			if exists := strings.Trim(outcomes, "-") != ""; found != exists || exists && got.Outcomes != outcomes {
				t.Fatalf("%q: found %t with %q, want %q", name, found, got.Outcomes, outcomes)
			}
		}
	})
}

// TestHistoryOfManyPlaces: however many places have a test, and runs in each, an answer holds some megabytes, and counts all.
func TestHistoryOfManyPlaces(t *testing.T) {
	const test = "cart > keeps items"
	b := history.NewTestBuilder()
	older := strings.Repeat("p", 59)
	for i, date := range []time.Time{tuesday, tuesday.AddDate(0, 0, -1)} {
		outcomes := []string{"p", older}[i]
		for n := range history.MaxPlaces {
			place := httpapi.Place{Namespace: "acme", Trigger: fmt.Sprint("smoke-", n), Environment: "staging"}
			addTo(t, b, place, test, dayOf(place, date, 'a', test, outcomes))
		}
	}
	kept := 0
	h := b.History(test, 30, func(httpapi.Place) bool { return true })
	for _, p := range h.Places {
		if kept += len(p.Last); p.Runs != 60 || len(p.Last) == 0 {
			t.Fatalf("%d runs, of which %d are kept", p.Runs, len(p.Last))
		}
	}
	if kept > 20_000 || !b.Cut || len(h.Places) != history.MaxPlaces {
		t.Errorf("%d runs of %d places are kept, cut: %t", kept, len(h.Places), b.Cut)
	}
}

// TestMessagesOfReruns: what an attempt said counts in its run, once, wherever other runs are between the attempts.
func TestMessagesOfReruns(t *testing.T) {
	for name, tc := range map[string]struct {
		commits string  // of the attempts; a later one of a commit repeats the failed tests
		said    [][]int // the attempts, by message
		want    string
	}{
		"another run is between":       {"aba", [][]int{{0, 1, 2}}, "m0: 2 times, last in smoke-1"},
		"attempts follow each other":   {"aab", [][]int{{0, 1, 2}}, "m0: 2 times, last in smoke-2"},
		"two runs take turns":          {"ababab", [][]int{{0, 1, 2, 3, 4, 5}}, "m0: 2 times, last in smoke-1"},
		"each run has its own message": {"abab", [][]int{{0, 2}, {1, 3}}, "m1: 1 times, last in smoke-1; m0: 1 times, last in smoke-0"},
	} {
		var runs []history.Run
		place := &history.PlaceDay{Place: smoke}
		for i, sha := range tc.commits {
			r := runAt(smoke, fmt.Sprint("smoke-", i), tuesday.Add(time.Duration(i)*time.Hour), "Failed")
			r.SHA, r.Partial = strings.Repeat(string(sha), 40), strings.IndexRune(tc.commits, sha) < i
			runs, place.Runs = append(runs, r), append(place.Runs, r.ID)
		}
		test := history.TestDay{Outcomes: strings.Repeat("f", len(runs))}
		for i, at := range tc.said {
			test.Failures = append(test.Failures, history.Failure{Runs: at, Message: fmt.Sprint("m", i)})
		}
		b, d := history.NewTestBuilder(), history.NewDay("acme", "2026-11-24", runs, nil)
		b.Add(*d.Index().See(test, place))
		var got []string
		for _, f := range b.History("cart", 1, func(httpapi.Place) bool { return true }).Places[0].Failures {
			got = append(got, fmt.Sprintf("%s: %d times, last in %s", f.Message, f.Times, f.LastRun))
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
