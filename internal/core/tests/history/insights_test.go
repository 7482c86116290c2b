package history_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

func TestRunOf(t *testing.T) {
	at := func(seconds int) *time.Time { return new(tuesday.Add(time.Duration(seconds) * time.Second)) }
	is := httpapi.Run{
		ID: "smoke-1", Namespace: "shop", Trigger: "smoke", Environment: "staging", State: "Error", CreatedAt: *at(2), ReceivedAt: at(0), StartedAt: at(30), EndedAt: at(95),
		DurationSeconds: 65.04, Message: `Container "test" could not start: the image "registry.example.com/e2e:17" cannot be pulled. Check its name.`,
	}
	got := history.RunOf(is)
	want := history.Run{
		ID: "smoke-1", Place: smoke, CreatedAt: "2026-11-24T10:00:02Z", State: "Error", Reason: "Container … could not start: the image … cannot be pulled",
		DurationSeconds: 65, QueueSeconds: 30, VerdictSeconds: 95,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	is.Origin, is.Repeats = "Retry", "smoke-0"
	if got := history.RunOf(is); !got.Later || got.Earlier != "smoke-0" || got.Partial || got.VerdictSeconds != 93 || got.QueueSeconds != 28 {
		t.Errorf("a retry waits since it was created, and has no notification: %+v", got)
	}
	is.Origin, is.Repeats, is.OnlyFailedOf = "Rerun", "", "smoke-0"
	if got := history.RunOf(is); !got.Later || got.Earlier != "smoke-0" || !got.Partial || got.VerdictSeconds != 95 {
		t.Errorf("a rerun of failed tests: %+v", got)
	}
	is.State = "Failed"
	if got := history.RunOf(is); got.Reason != "" {
		t.Errorf("what a failed run says differs from run to run: %q", got.Reason)
	}
}

// insightsOf sums up days, which are read as from the archive.
func insightsOf(days, before []string, known map[string]*history.Day, s history.Selection) httpapi.Insights {
	b := history.NewInsightsBuilder(days, before, s)
	for _, day := range slices.Backward(slices.Concat(before, days)) {
		if d := known[day]; d != nil {
			b.Add(readAgain(d))
		}
	}
	return b.Insights()
}

func failingTests(days []string, known map[string]*history.Day, s history.Selection) []httpapi.TestStats {
	r := history.NewReliability(s)
	for _, day := range slices.Backward(days) {
		if d := known[day]; d != nil {
			r.Add(readAgain(d))
		}
	}
	return r.Tests()
}

func readAgain(d *history.Day) *history.IndexedDay {
	all, err := history.ReadParts(bytes.NewReader(d.Encode()), history.Parts{
		Has: func(history.Run) bool { return true }, Bytes: 8 << 20, Rankings: true,
	})
	if err != nil {
		panic(err)
	}
	return all
}

func TestInsights(t *testing.T) {
	other := httpapi.Place{Namespace: "shop", Trigger: "e2e", Environment: "production"}
	known := map[string]*history.Day{}
	add := func(day time.Time, runs ...history.Run) {
		d := history.NewDay("acme", day.Format(history.DayLayout), runs, nil)
		known[d.Day] = &d
	}
	of := func(place httpapi.Place, state, reason string, seconds float64) history.Run {
		r := runAt(place, fmt.Sprint(place.Trigger, "-", state, seconds), tuesday, state)
		r.Reason, r.DurationSeconds, r.VerdictSeconds, r.QueueSeconds = reason, seconds, seconds+10, 10
		return r
	}
	add(tuesday, of(smoke, "Passed", "", 60), of(smoke, "Passed", "", 80), of(smoke, "Failed", "", 100), of(smoke, "Superseded", "", 0), of(other, "Error", "the node was lost", 5))
	add(tuesday.AddDate(0, 0, -1), of(smoke, "TimedOut", "", 600), of(smoke, "Passed", "", 70))
	partial := of(smoke, "Failed", "", 1)
	partial.Partial = true // it is a part of the one before
	add(tuesday.AddDate(0, 0, -2), of(smoke, "Failed", "", 90), partial)
	days := history.Days(tuesday, 4)
	got := insightsOf(days[2:], days[:2], known, history.Selection{})
	period := httpapi.InsightsPeriod{
		From: "2026-11-23", To: "2026-11-24", Runs: 7, Passed: 3, Failed: 1, TimedOut: 1, Error: 1, NoVerdict: 1, PassRate: new(0.5),
		Duration: httpapi.Quantiles{Count: 4, Median: 70, P95: 100}, Verdict: httpapi.Quantiles{Count: 6, Median: 80, P95: 610}, Queue: httpapi.Quantiles{Count: 4, Median: 10, P95: 10},
	}
	if diff := cmp.Diff(period, got.Period); diff != "" {
		t.Error(diff)
	}
	if got.Before == nil || got.Before.Failed != 1 || got.Before.Duration.Median != 90 || *got.Before.PassRate != 0 || got.Before.From != "2026-11-21" || got.Before.To != "2026-11-22" {
		t.Errorf("%+v", got.Before)
	}
	ends := []httpapi.InsightsEnd{
		{State: "Passed", Runs: 3}, {State: "Error", Reason: "the node was lost", Runs: 1}, {State: "Failed", Runs: 1}, {State: "Superseded", Runs: 1}, {State: "TimedOut", Runs: 1},
	}
	if diff := cmp.Diff(ends, got.Ends) + cmp.Diff([]httpapi.Place{other, smoke}, got.Places); diff != "" {
		t.Error(diff)
	}
	if len(got.Daily) != 2 || got.Daily[0].Day != "2026-11-23" || got.Daily[1].Passed != 2 || got.Daily[1].Error != 1 {
		t.Errorf("%+v", got.Daily)
	}
	one := insightsOf(days[2:], days[:2], known, history.Selection{Trigger: "e2e"})
	if one.Period.Runs != 1 || one.Period.Error != 1 || one.Before != nil || one.Period.Duration.Count != 0 {
		t.Errorf("%+v", one.Period)
	}
	none := insightsOf(days[:1], days[1:2], nil, history.Selection{})
	if none.Period.Runs != 0 || none.Period.PassRate != nil || none.Daily[0].Day != "2026-11-21" || none.LeastReliable == nil {
		t.Errorf("%+v", none)
	}
}

// TestVerdictOfAttempts: retries and repetitions are a part of the wait for a verdict, and reruns of people are not.
func TestVerdictOfAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		attempts string // D(eployed), T: a retry or repetition, R(erun), F(ailed tests), X: a deployment of another commit; then a state
		want     string // how many have a verdict, and the longest time; the attempts take 10, 20, 40 and 80 seconds
	}{
		"alone":                            {"", "DP", "1 10"},
		"an error is retried":              {"People waited for the retry.", "DE TP", "1 30"},
		"twice":                            {"", "DE TE TF", "1 70"},
		"another run is between":           {"", "DE XP TP", "2 50"},
		"what was tested changed":          {"The run had no verdict before.", "DI TF", "1 30"},
		"the retry is canceled":            {"The error was the verdict.", "DE TC", "1 10"},
		"nothing has a verdict":            {"", "DI TC", "0 0"},
		"a person asks":                    {"That is long after the deployment.", "DF RP", "1 10"},
		"a person asks for failed tests":   {"", "DF FP", "1 10"},
		"a person asks, and it is retried": {"", "DE TF RE TP", "1 30"},
		"its run is of another day":        {"It is not known when that was deployed.", "RP XF", "1 20"},
		"its retry is of the next day":     {"", "TP", "0 0"},
	} {
		states := map[byte]string{'P': "Passed", 'F': "Failed", 'E': "Error", 'I': "Inconclusive", 'C': "Canceled"}
		var runs []history.Run
		last := "missing"
		for i, a := range strings.Fields(tc.attempts) {
			r := runAt(smoke, fmt.Sprint("smoke-", i), tuesday.Add(time.Duration(i)*time.Minute), states[a[1]])
			r.VerdictSeconds, r.SHA = float64(int(10)<<i), "aaaaaaa"
			switch a[0] {
			case 'X':
				r.SHA = "bbbbbbb"
			case 'T':
				r.Later, r.Earlier = true, last
			case 'R':
				r.Later = true
			case 'F':
				r.Later, r.Partial, r.Earlier = true, true, last
			}
			if a[0] != 'X' {
				last = r.ID
			}
			runs = append(runs, r)
		}
		d := history.NewDay("acme", "2026-11-24", runs, nil)
		p := insightsOf([]string{d.Day}, []string{"2026-11-23"}, map[string]*history.Day{d.Day: &d}, history.Selection{}).Period
		if got := fmt.Sprint(p.Verdict.Count, p.Verdict.P95); got != tc.want {
			t.Errorf("%s %s: %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// TestRankings: reliability is by the runs of a place, and what was slow before is compared.
func TestRankings(t *testing.T) {
	monday := tuesday.AddDate(0, 0, -1)
	known := map[string]*history.Day{}
	for _, d := range []*history.Day{dayOf(smoke, monday, 'a', "cart", "ppfp"), dayOf(smoke, tuesday, 'k', "cart", "frp")} {
		known[d.Day] = d
	}
	days := history.Days(tuesday, 2)
	got := insightsOf(days[1:], days[:1], known, history.Selection{})
	if len(got.LeastReliable) != 1 || got.LeastReliable[0].Failed != 1 || got.LeastReliable[0].Flaky != 1 || got.LeastReliable[0].Runs != 3 || !got.LeastReliable[0].LastFailedAt.Equal(tuesday) {
		t.Errorf("%+v", got.LeastReliable)
	}
	if len(got.Slowest) != 1 || got.Slowest[0].MedianMilliseconds != 200 || got.Slowest[0].Change == nil || *got.Slowest[0].Change != 0 {
		t.Errorf("%+v", got.Slowest)
	}
	all := failingTests(days, known, history.Selection{Environment: "staging"})
	if len(all) != 1 || all[0].Failed != 2 || all[0].Runs != 7 {
		t.Errorf("%+v", all)
	}
	if other := failingTests(days, known, history.Selection{Environment: "production"}); len(other) != 0 {
		t.Errorf("%+v", other)
	}
	stats := all[0]
	var last history.LastOutcomes
	for _, d := range seen(t, smoke, "cart", known["2026-11-23"], known["2026-11-24"]) {
		last.Add(d)
	}
	last.Describe(&stats, true)
	if stats.Outcomes != "ppfpfrp" || stats.FailsSince != nil || stats.MedianMilliseconds != 200 || stats.File != "cart.spec.ts" {
		t.Errorf("%+v", stats)
	}
}

// TestLimitsOfADay: the newest results are kept, and names that are new in each run do not fill the memory.
func TestLimitsOfADay(t *testing.T) {
	var runs []history.Run
	for i := range 30 {
		r := runAt(smoke, fmt.Sprintf("smoke-%d", i), tuesday, "Passed")
		r.Tests = 100_000
		runs = append(runs, r)
	}
	b, chosen := history.NewPlaceBuilder(smoke, runs)
	if len(chosen) != 20 || chosen[0].ID != "smoke-10" {
		t.Errorf("%d runs from %s", len(chosen), chosen[0].ID)
	}
	runs[29].Tests = 5_000_000
	if _, chosen := history.NewPlaceBuilder(smoke, runs); len(chosen) != 1 || chosen[0].ID != "smoke-29" {
		t.Errorf("%d runs: the last one counts, however large", len(chosen))
	}
	b.Begin("smoke-10")
	for i := range 150_010 {
		b.Add(httpapi.Test{Name: fmt.Sprint("at ", i), State: httpapi.TestFailed, Message: strings.Repeat("m", i%3)})
	}
	if p, _ := b.Finish(); p.Tests != 150_000 || p.OmittedTests != 10 || p.Omitted != 10 || len(p.Failing) != 200 {
		t.Errorf("%d tests, %d omitted, %d runs omitted, %d failing", p.Tests, p.OmittedTests, p.Omitted, len(p.Failing))
	}
}
