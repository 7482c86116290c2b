package history_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// TestSumsOfDays: what is summed up day by day, the newest first, is what follows from all runs at once.
func TestSumsOfDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var days []*history.Day
		outcomes := ""
		for i := range rapid.IntRange(1, 5).Draw(t, "days") {
			day := rapid.StringMatching("[pfrs-]{0,7}[pfrs]").Draw(t, "outcomes")
			days = append(days, dayOf(smoke, tuesday.AddDate(0, 0, i-5), byte('a'+8*i), "cart", day))
			outcomes += day
		}
		known, names := map[string]*history.Day{}, history.Days(tuesday, 10)
		var runs []history.Run
		for _, d := range days {
			known[d.Day] = d
			runs = append(runs, d.Runs...)
		}
		want := straightforward(runs, outcomes)
		got := historyOf(t, smoke, "cart", days...).Places
		if len(got) != 1 {
			t.Fatalf("%d places", len(got))
		}
		in := got[0]
		in.Failures = nil // have a test of their own
		if in.Failing != nil {
			in.Failing.CompareURL = ""
		}
		if diff := gocmp.Diff(want, in); diff != "" {
			t.Error(diff)
		}
		failed, flaky := strings.Count(outcomes, "f"), strings.Count(outcomes, "r")
		tests := failingTests(names, known, history.Selection{})
		if failed+flaky == 0 != (len(tests) == 0) || len(tests) == 1 && (tests[0].Failed != failed || tests[0].Flaky != flaky || tests[0].Runs != len(runs)) {
			t.Errorf("%d failed, %d flaky: %+v", failed, flaky, tests)
		}
	})
}

// straightforward goes through all runs, the oldest first. The test took 100 ms in the first run of a day, 200 in the second, and so on.
func straightforward(runs []history.Run, outcomes string) httpapi.TestInPlace {
	in := httpapi.TestInPlace{Place: smoke, Last: []httpapi.TestRun{}}
	var took []int64
	var counted []httpapi.TestRun
	nth := 0
	for i, r := range runs {
		at, _ := r.Created()
		if nth++; i > 0 && runs[i-1].CreatedAt[:10] != r.CreatedAt[:10] {
			nth = 1
		}
		test := httpapi.TestRun{ID: r.ID, Place: r.Place, SHA: r.SHA, Branch: r.Branch, CreatedAt: at, Milliseconds: int64(100 * nth)}
		switch outcomes[i] {
		case 'p':
			test.State = httpapi.TestPassed
			in.Passed++
		case 'r':
			test.State = httpapi.TestFlaky
			in.Passed++
			in.Flaky++
		case 'f':
			test.State, test.Message = httpapi.TestFailed, "expected 200"
			in.Failed++
		case 's':
			test.State, test.Milliseconds = httpapi.TestSkipped, 0
			in.Skipped++
		default:
			continue
		}
		in.Last = append(in.Last, test)
		if outcomes[i] == 's' {
			continue
		}
		if n := len(counted); n > 0 && (counted[n-1].State == httpapi.TestFailed) != (test.State == httpapi.TestFailed) {
			in.Flips++
		}
		counted, took = append(counted, test), append(took, test.Milliseconds)
	}
	slices.Sort(took)
	in.Runs = len(runs)
	if n := len(took); n > 0 {
		in.MedianMilliseconds = took[(n-1)/2]
	}
	slices.Reverse(in.Last)
	slices.Reverse(counted)
	passed := slices.IndexFunc(counted, func(r httpapi.TestRun) bool { return r.State != httpapi.TestFailed })
	switch row := cmp.Or(passed, 0); {
	case len(counted) == 0 || passed == 0:
	case passed < 0:
		in.Failing = &httpapi.FailingSince{First: counted[len(counted)-1], Runs: len(counted)}
	default:
		in.Failing = &httpapi.FailingSince{First: counted[row-1], Runs: row, Before: &counted[row]}
	}
	return in
}

// TestMessages: the five that were said last remain, with what they said in all days.
func TestMessages(t *testing.T) {
	b := history.NewTestBuilder()
	for day := range 8 { // the newest first
		at := tuesday.AddDate(0, 0, -day)
		r := runAt(smoke, fmt.Sprint("smoke-", day), at, "Failed")
		d := history.NewDay("acme", at.Format(time.DateOnly), []history.Run{r}, nil)
		test := history.TestDay{Outcomes: "f", Failures: []history.Failure{{Runs: []int{0}, Message: fmt.Sprint("message ", day%6), Text: fmt.Sprint("text ", day)}}}
		b.Add(*d.Index().See(test, &history.PlaceDay{Place: smoke, Runs: []string{r.ID}}))
	}
	failures := b.History("cart", 8, func(httpapi.Place) bool { return true }).Places[0].Failures
	got := ""
	for _, f := range failures {
		got += fmt.Sprintf("%s %s %d %s %v; ", f.Message, f.Text, f.Times, f.LastRun, tuesday.Sub(f.FirstAt).Hours()/24)
	}
	const want = "message 0 text 0 2 smoke-0 6; message 1 text 1 2 smoke-1 7; message 2 text 2 1 smoke-2 2; " +
		"message 3 text 3 1 smoke-3 3; message 4 text 4 1 smoke-4 4; "
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
