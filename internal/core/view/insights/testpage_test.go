package insights_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/view/insights"
)

var (
	thursday   = time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC)
	onSmoke    = httpapi.Place{Namespace: "shop", Trigger: "smoke", Environment: "production"}
	onCheckout = httpapi.Place{Namespace: "shop", Trigger: "checkout", Environment: "staging"}
)

// testIn returns a place of a test with an hour between two runs. The letters are those of httpapi.TestStats, the oldest first.
func testIn(in httpapi.Place, outcomes string) httpapi.TestInPlace {
	p := httpapi.TestInPlace{Place: in, MedianMilliseconds: 2100}
	states := map[byte]string{'p': httpapi.TestPassed, 'f': httpapi.TestFailed, 'r': httpapi.TestFlaky, 's': httpapi.TestSkipped}
	for i := len(outcomes) - 1; i >= 0; i-- {
		p.Last = append(p.Last, httpapi.TestRun{ID: fmt.Sprintf("run-%d", i), Place: in, SHA: fmt.Sprintf("%07d", i), Branch: "main", State: states[outcomes[i]],
			CreatedAt: thursday.Add(-time.Duration(len(outcomes)-1-i) * time.Hour), Milliseconds: 2000, Message: map[bool]string{true: "it broke"}[outcomes[i] == 'f']})
	}
	p.Passed, p.Failed = strings.Count(outcomes, "p"), strings.Count(outcomes, "f")
	p.Flaky, p.Skipped = strings.Count(outcomes, "r"), strings.Count(outcomes, "s")
	p.Passed += p.Flaky
	p.Runs, p.Flips = len(outcomes), insights.StripOf(outcomes).Flips
	if n := len(outcomes) - len(strings.TrimRight(outcomes, "f")); n > 0 {
		p.Failing = &httpapi.FailingSince{First: p.Last[n-1], Runs: n, CompareURL: "https://github.com/acme/shop/compare/a...b"}
		if n < len(p.Last) {
			p.Failing.Before = &p.Last[n]
		}
	}
	return p
}

func pageOfTest(p insights.Period, places ...httpapi.TestInPlace) insights.TestPage {
	return insights.TestPageOf(httpapi.TestHistory{Name: "cart > keeps items", File: "cart.ts", Line: 7, Days: 30, Places: places}, p, "shop", thursday)
}

// said is the sentence as a reader sees it.
func said(l insights.TestLead) string {
	text := l.Sentence()
	if l.Since == nil {
		return text
	}
	if l.Before != nil {
		text += " Passed with " + l.Before.Text + "."
	}
	return fmt.Sprintf("%s Others: %d. %s", text, l.Others, l.Rest)
}

func TestTestLead(t *testing.T) {
	cases := map[string]struct {
		reason string
		places []httpapi.TestInPlace
		want   string
		state  insights.TestState
	}{
		"It fails":                  {"The first failure and the run before it name the change.", []httpapi.TestInPlace{testIn(onSmoke, "pppfff")}, "Fails since 12:00 UTC today in smoke on production, first with 0000003 on main. Passed with 0000002. Others: 0. ", insights.TestFailing},
		"It always failed":          {"Nothing is invented.", []httpapi.TestInPlace{testIn(onSmoke, "ff")}, "Fails since 13:00 UTC today in smoke on production, first with 0000000 on main. Others: 0. ", insights.TestFailing},
		"It fails in several":       {"One is told, the others are counted.", []httpapi.TestInPlace{testIn(onSmoke, "pf"), testIn(onCheckout, "pf")}, "Fails since 14:00 UTC today in smoke on production, first with 0000001 on main. Passed with 0000000. Others: 1. ", insights.TestFailing},
		"It fails elsewhere":        {"A failure is said wherever the reader looks.", []httpapi.TestInPlace{testIn(onCheckout, "pp"), testIn(onSmoke, "pf")}, "Fails since 14:00 UTC today in smoke on production, first with 0000001 on main. Passed with 0000000. Others: 0. ", insights.TestFailing},
		"It fails now and before":   {"It may be no change at all.", []httpapi.TestInPlace{testIn(onSmoke, "pfpf")}, "Fails since 14:00 UTC today in smoke on production, first with 0000003 on main. Passed with 0000002. Others: 0. It comes and goes: 3 flips in 30 days.", insights.TestFailing},
		"It comes and goes":         {"Flips make it unreliable.", []httpapi.TestInPlace{testIn(onSmoke, "pfpfpps")}, "Comes and goes: 4 flips in 30 days. It passed in the last run, 1 hour ago.", insights.TestUnsure},
		"It comes and goes in one":  {"The place is named.", []httpapi.TestInPlace{testIn(onSmoke, "pppp"), testIn(onCheckout, "pfpfp")}, "Comes and goes: 4 flips in 30 days in checkout on staging. It passed in the last run, just now.", insights.TestUnsure},
		"It was repaired":           {"The first pass after the failures counts.", []httpapi.TestInPlace{testIn(onSmoke, "pffspp")}, "Passes since 13:00 UTC today. It failed in 2 of 6 runs of the last 30 days.", insights.TestPassing},
		"It passes":                 {"No failure is good news.", []httpapi.TestInPlace{testIn(onSmoke, "ppp")}, "It passed in all 3 runs of the last 30 days.", insights.TestPassing},
		"It ran once":               {"One run is no row.", []httpapi.TestInPlace{testIn(onSmoke, "p")}, "It passed in its only run of the last 30 days.", insights.TestPassing},
		"It passes when repeated":   {"A repetition is no plain pass.", []httpapi.TestInPlace{testIn(onSmoke, "prp")}, "It passed in all 3 runs of the last 30 days, in 1 of them only when it was repeated.", insights.TestPassing},
		"It is new":                 {"Runs without it are no passes.", []httpapi.TestInPlace{testIn(onSmoke, "--pp")}, "It passed in 2 of 4 runs of the last 30 days. The others skipped it, or did not have it.", insights.TestPassing},
		"It failed in one of two":   {"The sentence is about the place of the page.", []httpapi.TestInPlace{testIn(onSmoke, "ppfp"), testIn(onCheckout, "pppppp")}, "Passes since 14:00 UTC today. It failed in 1 of 4 runs of the last 30 days in smoke on production.", insights.TestPassing},
		"It is skipped":             {"A skipped test passes nowhere.", []httpapi.TestInPlace{testIn(onSmoke, "sss")}, "It was skipped in all runs of the last 30 days.", insights.TestSkipped},
		"It failed before the last": {"What is not listed is not known.", []httpapi.TestInPlace{{Place: onSmoke, Runs: 90, Failed: 1, Flips: 2, Last: testIn(onSmoke, "pp").Last}}, "It passes. It failed in 1 of 90 runs of the last 30 days.", insights.TestPassing},
	}
	for name, tc := range cases {
		page := pageOfTest(insights.Period{Days: 30}, tc.places...)
		if got := said(page.Lead); got != tc.want || page.State != tc.state {
			t.Errorf("%s\n%s: %q, %v, want %q, %v", tc.reason, name, got, page.State.Label, tc.want, tc.state.Label)
		}
	}
}

// TestSameRate: lists, the page of a test and its first sentence say the same of a test, with the same runs.
func TestSameRate(t *testing.T) {
	for outcomes, want := range map[string]string{
		"f": "failed in 1 of 1 run", "pfpp": "failed in 1 of 4 runs", "pfrsp-": "failed in 1 of 6 runs", "ffffffffp": "failed in 8 of 9 runs",
	} {
		in := testIn(onSmoke, outcomes)
		page := pageOfTest(insights.Period{Days: 30}, in, testIn(onCheckout, "pppp"))
		row := insights.TestRowsOf([]httpapi.TestStats{{Place: onSmoke, Runs: in.Runs, Failed: in.Failed, Outcomes: outcomes}}, insights.Period{Days: 30}, thursday)[0]
		all := []string{row.Failed, page.Places[0].Failed, "failed in " + page.Figures[0].Note}
		if in.Failing == nil {
			_, sentence, _ := strings.Cut(page.Lead.Text, "It ")
			sentence, _, _ = strings.Cut(sentence, " of the last")
			all = append(all, sentence)
		}
		for _, got := range all {
			if got != want {
				t.Errorf("%s: %q, want %q", outcomes, got, want)
			}
		}
		if row.Share != page.Figures[0].Value {
			t.Errorf("%s: a list has %s, the page of the test %s", outcomes, row.Share, page.Figures[0].Value)
		}
	}
}

// TestChosenPlace: the page shows the place that its address names, or the first.
func TestChosenPlace(t *testing.T) {
	places := []httpapi.TestInPlace{testIn(onSmoke, "pf"), testIn(onCheckout, "pp")}
	for want, p := range map[string]insights.Period{
		"smoke on production": {Days: 30}, "checkout on staging": {Days: 30, Trigger: "checkout"}, "smoke on production ": {Days: 30, Trigger: "gone"},
	} {
		page := pageOfTest(p, places...)
		if page.Place != strings.TrimSpace(want) || len(page.Places) != 2 || page.Places[0].Since == nil || page.Places[1].Since != nil {
			t.Errorf("%+v: %s", p, page.Place)
		}
		if failing := page.Place == "smoke on production"; (page.Quarantine != "") != failing || (page.Dots.Mark > 0) != failing {
			t.Errorf("%s: %q, a mark at %v", page.Place, page.Quarantine, page.Dots.Mark)
		}
	}
	if page := pageOfTest(insights.Period{Days: 30}); page.Known || page.Title == "" {
		t.Errorf("a test of no place: %+v", page)
	}
}

// TestRecentRuns: the list ends where the failures began, and says what it leaves out.
func TestRecentRuns(t *testing.T) {
	for outcomes, want := range map[string]string{
		"ppf":                            "f! p p",
		"pppp" + strings.Repeat("f", 20): "f f f f f f f f +11 f! p",
		strings.Repeat("f", 30):          "f f f f f f f f +21 f!",
		strings.Repeat("p", 40) + "f" + "pppppppppppp": "p p p p p p p p p p",
		"": "",
	} {
		page := pageOfTest(insights.Period{Days: 30}, testIn(onSmoke, outcomes))
		var got []string
		for _, r := range page.Recent() {
			if r.Omitted > 0 {
				got = append(got, fmt.Sprintf("+%d", r.Omitted))
			}
			letter := map[string]string{"passed": "p", "failed": "f"}[r.State.Key]
			if r.First {
				letter += "!"
			}
			got = append(got, letter)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", outcomes, diff)
		}
	}
}

func TestQuarantine(t *testing.T) {
	in := testIn(onSmoke, "pf")
	want := `apiVersion: postflight.dev/v1alpha1
kind: Quarantine
metadata:
  name: smoke-00000000
  namespace: shop
spec:
  triggers: [smoke]
  environments: [production]
  tests:
    - "a \"b\": \u202e#\\"
  reason: "Fails since 26 November 2026."
  owner: # who repairs it
  since: "2026-11-26"
  until: "2026-12-10"
`
	got := insights.TestPageOf(httpapi.TestHistory{Name: "a \"b\": \u202E#\\", Places: []httpapi.TestInPlace{in}}, insights.Period{}, "shop", thursday).Quarantine
	name := strings.Split(strings.Split(got, "smoke-")[1], "\n")[0]
	if diff := cmp.Diff(want, strings.Replace(got, name, "00000000", 1)); diff != "" || len(name) != 8 {
		t.Errorf("%q: %s", name, diff)
	}
	if got := insights.TestOfUnknown("it's", insights.Period{}, "shop", thursday).Command; got != `postflight tests show 'it'\''s'` {
		t.Error(got)
	}
}

func TestStrip(t *testing.T) {
	for outcomes, want := range map[string]struct {
		label        string
		marks, flips int
	}{
		"":                       {"No run", 0, 0},
		"p":                      {"Last 1 run: 1 passed", 1, 0},
		"pfrs-?":                 {"Last 6 runs: 1 failed, 1 passed when repeated, 1 passed, 1 skipped it, 2 did not list it", 6, 2},
		strings.Repeat("pf", 50): {"Last 24 runs: 12 failed, 12 passed", 24, 23},
		"fssf":                   {"Last 4 runs: 2 failed, 2 skipped it", 4, 0},
	} {
		s := insights.StripOf(outcomes)
		if s.Label != want.label || len(s.Marks) != want.marks || s.Flips != want.flips {
			t.Errorf("%s: %q, %d marks, %d flips", outcomes, s.Label, len(s.Marks), s.Flips)
		}
		for _, m := range s.Marks {
			if m.X < 0 || m.X+4 > 144 || m.Y < 0 || m.Y+m.Height > 16 {
				t.Errorf("%s: %+v is outside", outcomes, m)
			}
		}
	}
}

func TestTestRows(t *testing.T) {
	at := func(d time.Duration) *time.Time { return new(thursday.Add(-d)) }
	cases := map[string]struct {
		reason string
		test   httpapi.TestStats
		state  insights.TestState
		tags   string
		share  string
	}{
		"It fails":          {"Since when is said in a word.", httpapi.TestStats{Runs: 40, Failed: 9, FailsSince: at(50 * time.Hour), Outcomes: "ppff"}, insights.TestFailing, "fails since Tuesday", "23%"},
		"It is new":         {"A first failure is news.", httpapi.TestStats{Runs: 40, Failed: 1, FailsSince: at(time.Hour), Outcomes: "pppf"}, insights.TestFailing, "new today", "3%"},
		"It comes and goes": {"Flips count.", httpapi.TestStats{Runs: 900, Failed: 2, Flaky: 2, Outcomes: "pfpfp"}, insights.TestUnsure, "comes and goes, repeated twice", "0.2%"},
		"It does both":      {"Both are said.", httpapi.TestStats{Runs: 9, Failed: 3, FailsSince: at(30 * 24 * time.Hour), Outcomes: "pfpf"}, insights.TestFailing, "fails since 27 Oct, comes and goes", "33%"},
		"It passes":         {"There is nothing to say.", httpapi.TestStats{Runs: 9, Outcomes: "ppp"}, insights.TestPassing, "", ""},
		"It is skipped":     {"It is not said to pass.", httpapi.TestStats{Outcomes: "ss"}, insights.TestSkipped, "", ""},
	}
	for name, tc := range cases {
		row := insights.TestRowsOf([]httpapi.TestStats{tc.test}, insights.Period{Days: 30}, thursday)[0]
		if got := strings.Join(row.Tags, ", "); row.State != tc.state || got != tc.tags || row.Share != tc.share {
			t.Errorf("%s\n%s: %v, %q, %q", tc.reason, name, row.State, got, row.Share)
		}
	}
}

func TestSinceWhen(t *testing.T) {
	for want, hours := range map[string]int{"14:00 UTC today": 0, "yesterday 14:00 UTC": 24, "Tuesday 14:00 UTC": 48, "19 November, 14:00 UTC": 7 * 24, "26 November 2025": 365 * 24} {
		in := testIn(onSmoke, "f")
		in.Failing.First.CreatedAt = thursday.Add(-time.Duration(hours) * time.Hour)
		if got := pageOfTest(insights.Period{Days: 90}, in).Lead.SinceText; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
