package insights_test

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view/insights"
)

// pageOf returns the page of 30 days.
func pageOf(in httpapi.Insights) insights.Page {
	in.Days = 30
	return insights.PageOf(in, insights.Period{Days: 30}, thursday)
}

func TestInsightsLead(t *testing.T) {
	type period = httpapi.InsightsPeriod
	cases := map[string]struct {
		reason string
		now    period
		before *period
		want   string
	}{
		"No run":               {"There is nothing to sum up.", period{}, &period{Passed: 9}, "No run ended in the last 30 days."},
		"No verdict":           {"Superseded runs say nothing.", period{Runs: 3, NoVerdict: 3}, nil, "3 runs ended in the last 30 days, none of them with a verdict."},
		"One run":              {"It is no percentage.", period{Runs: 1, Passed: 1}, nil, "The only run passed."},
		"All":                  {"All is said as all.", period{Runs: 8, Passed: 8}, nil, "All 8 runs passed."},
		"None":                 {"None is said as none.", period{Runs: 8, Failed: 7, Error: 1}, nil, "None of 8 runs passed."},
		"Better":               {"The change is in points.", period{Runs: 963, Passed: 902, Failed: 58, NoVerdict: 3}, &period{Passed: 93, Failed: 7}, "94% of 960 runs passed, 1 point more than in the 30 days before."},
		"Worse":                {"Less is said as less.", period{Runs: 10, Passed: 5, TimedOut: 5}, &period{Passed: 1}, "50% of 10 runs passed, 50 points less than in the 30 days before."},
		"The same":             {"Half a point is chance.", period{Runs: 10, Passed: 9, Failed: 1}, &period{Passed: 90, Failed: 10}, "90% of 10 runs passed, about as many as in the 30 days before."},
		"Almost all":           {"100% would be wrong.", period{Runs: 5000, Passed: 4999, Failed: 1}, nil, "99.9% of 5000 runs passed."},
		"Almost none":          {"0% would be wrong.", period{Runs: 5000, Passed: 1, Failed: 4999}, nil, "0.1% of 5000 runs passed."},
		"Nothing known before": {"There is nothing to compare.", period{Runs: 2, Passed: 1, Failed: 1}, &period{NoVerdict: 7}, "50% of 2 runs passed."},
		"Quarantined": {"A quarantined failure is never silent.", period{Runs: 4, Passed: 4, Quarantined: 2}, nil,
			"All 4 runs passed. Of these, 2 passed although quarantined tests failed."},
		"Repeated": {"A rerun does not hide that it was needed.", period{Runs: 4, Passed: 3, Repeated: 2, Failed: 1}, nil,
			"75% of 4 runs passed. Of these, 2 passed only when repeated."},
	}
	for name, tc := range cases {
		if got := pageOf(httpapi.Insights{Period: tc.now, Before: tc.before}).Lead; got.Text != tc.want {
			t.Errorf("%s\n%s: %q, want %q", tc.reason, name, got.Text, tc.want)
		}
	}
}

func TestFigures(t *testing.T) {
	q := func(median, p95 float64) httpapi.Quantiles {
		return httpapi.Quantiles{Count: 9, Median: median, P95: p95}
	}
	now := httpapi.InsightsPeriod{Passed: 942, Failed: 58, Duration: q(192, 300), Verdict: q(0, 400), Queue: q(3, 48.2)}
	before := &httpapi.InsightsPeriod{Passed: 931, Failed: 69, Duration: q(183, 300), Verdict: q(0, 431), Queue: q(3, 48)}
	want := []insights.Figure{
		{Name: "Passed", Value: "94%", Note: "942 of 1000 runs", Change: &insights.Change{"1.1 points more", "better"}},
		{Name: "Tests take, median", Value: "3m 12s", Note: "of 9 runs", Change: &insights.Change{"9s longer", "worse"}},
		{Name: "From deployment to verdict, p95", Value: "6m 40s", Note: "of 9 runs, with errors", Change: &insights.Change{"31s shorter", "better"}},
		{Name: "Wait in the queue, p95", Value: "48s", Note: "of 9 runs", Change: &insights.Change{"as before", "same"}},
	}
	if diff := cmp.Diff(want, pageOf(httpapi.Insights{Period: now, Before: before}).Figures); diff != "" {
		t.Error(diff)
	}
	for _, f := range pageOf(httpapi.Insights{}).Figures {
		if f.Value != "–" || f.Change != nil {
			t.Errorf("without runs: %+v", f)
		}
	}
	alone := pageOf(httpapi.Insights{Period: httpapi.InsightsPeriod{Passed: 3, Duration: q(.4, math.Inf(1))}}).Figures
	if alone[0].Value != "100%" || alone[0].Change != nil || alone[1].Value != "400ms" || alone[1].Change != nil {
		t.Errorf("without a period before: %+v", alone)
	}
}

// TestWorstTest: the sentence names a test only if it explains most of the failures.
func TestWorstTest(t *testing.T) {
	for _, tc := range []struct {
		failed, runs int
		want         bool
	}{{3, 5, true}, {2, 5, false}, {1, 1, false}, {2, 2, true}, {0, 0, false}} {
		in := httpapi.Insights{Period: httpapi.InsightsPeriod{Failed: tc.runs}, LeastReliable: []httpapi.TestStats{{Name: "a", Failed: tc.failed, Runs: 9}}}
		if got := pageOf(in).Worst != nil; got != tc.want {
			t.Errorf("%d of %d: %v, want %v", tc.failed, tc.runs, got, tc.want)
		}
	}
}

func TestDays(t *testing.T) {
	day := func(date string, passed, failed int) httpapi.InsightsDay {
		return httpapi.InsightsDay{Day: date, Passed: passed, Failed: failed, Error: failed, Duration: httpapi.Quantiles{Count: passed, Median: 61, P95: 122}}
	}
	days := []httpapi.InsightsDay{day("2026-11-01", 0, 0), day("2026-11-02", 4, 1), {Day: "<script>", NoVerdict: 1}}
	page := pageOf(httpapi.Insights{Daily: days, Period: httpapi.InsightsPeriod{Passed: 4, Failed: 1, Error: 1, NoVerdict: 1}})
	b := page.Runs
	var titles, keys []string
	for _, d := range b.Days {
		titles = append(titles, d.Title)
		for _, s := range d.Segments {
			keys = append(keys, s.Key)
		}
	}
	want := []string{"Sun 1 Nov: no run", "Mon 2 Nov: 4 passed, 1 failed, 1 could not run; median 1m 01s", "<script>: 1 without a verdict"}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"passed", "failed", "error"}, keys); diff != "" {
		t.Error(diff)
	}
	if want := "Runs a day over 3 days: 4 passed, 1 failed, 1 could not run, 1 without a verdict. Most were on Mon 2 Nov: 6."; b.Words != want {
		t.Errorf("%q, want %q", b.Words, want)
	}
	if want := "How long runs took over 3 days. On Mon 2 Nov, half of them took at most 1m 01s, and 95% at most 2m 02s."; page.Durations.Words != want {
		t.Errorf("%q, want %q", page.Durations.Words, want)
	}
}

// TestDayLabels: they fit below a plot on a phone.
func TestDayLabels(t *testing.T) {
	for days, most := range map[int]int{0: 0, 1: 1, 7: 7, 30: 5, 90: 5} {
		var all []httpapi.InsightsDay
		for i := range days {
			all = append(all, httpapi.InsightsDay{Day: time.Date(2026, 8, 29+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)})
		}
		labels := pageOf(httpapi.Insights{Daily: all}).Runs.Labels
		if len(labels) > most || days > 7 && len(labels) < 3 {
			t.Errorf("%d days have the labels %v", days, labels)
		}
		for i, l := range labels {
			if l.X < 0 || l.X > 100 || i > 0 && l.X-labels[i-1].X < 12 {
				t.Errorf("%d days: %v is too near", days, l)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	rows := insights.PageOf(httpapi.Insights{Ends: []httpapi.InsightsEnd{
		{State: v1alpha1.ReasonPassed, Reason: v1alpha1.ReasonPassed, Runs: 900}, {State: v1alpha1.ReasonError, Reason: "ImagePull", Runs: 1}, {State: "Later", Runs: 0},
	}}, insights.Period{Days: 90, Trigger: "smoke"}, thursday).Ends
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join([]string{r.State.Label, r.Why, r.Share, r.Query}, " "))
	}
	want := []string{"Passed  99.9% ?archive=1&state=Passed&trigger=smoke", "Error ImagePull 0.1% ?archive=1&state=Error&trigger=smoke", "Later  0% ?archive=1&state=Later&trigger=smoke"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rows[0].Width != 100 || rows[1].Width < 3 || rows[2].Width != 0 {
		t.Errorf("widths %v, %v, %v", rows[0].Width, rows[1].Width, rows[2].Width)
	}
}

func TestPeriod(t *testing.T) {
	for raw, want := range map[string]string{
		"": "?", "days=30": "?", "days=7": "?days=7", "days=8&trigger=a": "?trigger=a", "days=90&environment=b&q=x%20y&state=Failed&archive=1": "?days=90&environment=b&q=x+y",
		"days=-7": "?", "days=9999999999999999999999": "?", "q=%FF": "?", "trigger=" + strings.Repeat("a", 2000): "?trigger=" + strings.Repeat("a", 1024),
	} {
		q, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := insights.ParsePeriod(q).Query(); got != want {
			t.Errorf("%.40s: %.60s, want %.60s", raw, got, want)
		}
	}
	p := insights.Period{Days: 90, Trigger: "a"}
	if p.Longer() != nil || (insights.Period{Days: 7}).Longer().Days != 90 || !p.Filtered() || p.All() != "?days=90" {
		t.Errorf("%+v", p)
	}
	if got := p.TestQuery("a > b/c", httpapi.Place{Trigger: "smoke", Environment: "staging"}); got != "?days=90&environment=staging&name=a+%3E+b%2Fc&trigger=smoke" {
		t.Error(got)
	}
	if !slices.ContainsFunc(p.Choices("name", "x"), func(c insights.Choice) bool { return c.Current && c.Query == "?days=90&name=x&trigger=a" }) {
		t.Errorf("%+v", p.Choices("name", "x"))
	}
}

func TestTestDurations(t *testing.T) {
	for ms, want := range map[int64]string{-5: "0ms", 0: "0ms", 999: "999ms", 2149: "2.1s", 9_999: "10.0s", 38_000: "38s", 98_000: "1m 38s", math.MaxInt64: "365d 0h"} {
		row := insights.TestRowsOf([]httpapi.TestStats{{Runs: 1, MedianMilliseconds: ms}}, insights.Period{}, thursday)[0]
		if row.Median != want {
			t.Errorf("%d: %s, want %s", ms, row.Median, want)
		}
	}
	for s, want := range map[float64]string{.2: "0 100ms 200ms", 5: "0 2s 4s", 95: "0 1m", 600: "0 5m 10m", 5400: "0 30m 1h 1h 30m", 6 * 86400: "0 2d 4d 6d", math.Inf(1): "0 5000000d 10000000d"} {
		var labels []string
		for _, tick := range pageOf(httpapi.Insights{Daily: []httpapi.InsightsDay{{Day: "2026-11-01", Duration: httpapi.Quantiles{Count: 1, P95: s}}}}).Durations.Scale {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}
