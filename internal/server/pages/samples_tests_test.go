package pages_test

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// tests answer with the samples, or as told.
type tests struct {
	asked    []history.Query
	insights func(history.Query) (httpapi.Insights, error)
	list     func(history.Query) (httpapi.TestList, error)
	test     func(string, history.Query) (httpapi.TestHistory, error)
}

// sampleTests gives the pages a history.
func sampleTests(c *pages.Config) { c.Tests = &tests{} }

// with gives the pages this history.
func (s *tests) with(c *pages.Config) { c.Tests = s }

func (s *tests) Insights(_ context.Context, _ *v1alpha1.Team, q history.Query) (httpapi.Insights, error) {
	s.asked = append(s.asked, q)
	if s.insights != nil {
		return s.insights(q)
	}
	return sampleInsights(q), nil
}

func (s *tests) List(_ context.Context, _ *v1alpha1.Team, q history.Query) (httpapi.TestList, error) {
	s.asked = append(s.asked, q)
	if s.list != nil {
		return s.list(q)
	}
	list := httpapi.TestList{Days: q.Days, Next: "next"}
	for _, t := range append(unreliable(), reliable()...) {
		if strings.Contains(t.Name, q.Search) && (q.Trigger == "" || t.Trigger == q.Trigger) {
			list.Tests = append(list.Tests, t)
		}
	}
	return list, nil
}

func (s *tests) Test(_ context.Context, _ *v1alpha1.Team, name string, q history.Query) (httpapi.TestHistory, error) {
	s.asked = append(s.asked, q)
	switch {
	case s.test != nil:
		return s.test(name, q)
	case name == failingTest:
		return sampleFailing(q.Days), nil
	case name == unsureTest:
		return sampleUnsure(q.Days), nil
	case name == "search › suggests while typing":
		return samplePassing(q.Days), nil
	default:
		return httpapi.TestHistory{}, fs.ErrNotExist
	}
}

const (
	failingTest = "account › deletes an address"
	unsureTest  = "cart › keeps items"
)

var smokeProduction, smokeStaging = inPlace("smoke", "production"), inPlace("smoke", "staging")

func inPlace(trigger, environment string) httpapi.Place {
	return httpapi.Place{Namespace: team, Trigger: trigger, Environment: environment}
}

func before(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }

func unreliable() []httpapi.TestStats {
	p := func(n int) string { return strings.Repeat("p", n) }
	return []httpapi.TestStats{
		{Name: failingTest, File: "account.spec.ts", Place: smokeProduction, Runs: 214, Failed: 31, MedianMilliseconds: 2100,
			LastFailedAt: new(before(12 * minute)),
			FailsSince:   new(before(50 * time.Hour)), Outcomes: p(13) + "fffffffffff"},
		{Name: unsureTest, File: "cart.spec.ts", Place: smokeStaging, Runs: 214, Failed: 9, Flaky: 4, MedianMilliseconds: 3400,
			LastFailedAt: new(before(2 * time.Hour)),
			Outcomes:     "pppfpprpfppppfp-pfppsppf" + "p"},
		{Name: "search › suggests while typing", File: "search.spec.ts", Place: smokeStaging, Runs: 198, Failed: 5, MedianMilliseconds: 890,
			LastFailedAt: new(before(30 * time.Hour)),
			Outcomes:     p(4) + "f" + p(8) + "f" + p(6) + "f" + p(3)},
		{Name: "checkout › pays with a saved card", File: "checkout.spec.ts", Place: smokeProduction, Runs: 214, Failed: 1,
			MedianMilliseconds: 12_400, LastFailedAt: new(before(12 * minute)),
			FailsSince: new(before(12 * minute)), Outcomes: p(23) + "f"},
	}
}

func reliable() []httpapi.TestStats {
	return []httpapi.TestStats{
		{Name: "catalog › shows product 12", File: "catalog.spec.ts", Place: inPlace("checkout", "staging"), Runs: 96, MedianMilliseconds: 610,
			Outcomes: strings.Repeat("p", 24)},
		{Name: "com.example.shop.integration.payments.threedsecure.ThreeDSecureAuthenticationFlowIntegrationTest.shouldRedirectToTheIssuerAndReturnToTheShopWithTheChallengeResult[chromium]",
			File:  "src/test/java/com/example/shop/integration/payments/threedsecure/ThreeDSecureAuthenticationFlowIntegrationTest.java",
			Place: inPlace("release-acceptance", "staging"), Runs: 7, MedianMilliseconds: 98_000, Outcomes: "ppppppp"},
		{Name: "legacy › prints an invoice", File: "legacy.spec.ts", Place: smokeStaging, Outcomes: strings.Repeat("s", 9)},
	}
}

// weekly has fewer runs at weekends.
var weekly = []int{37, 31, 38, 32, 30, 8, 6}

func sampleInsights(q history.Query) httpapi.Insights {
	in := httpapi.Insights{Days: q.Days,
		Places: []httpapi.Place{smokeProduction, smokeStaging, inPlace("checkout", "staging"), inPlace("load", "staging")},
		Before: &httpapi.InsightsPeriod{Runs: 901, Passed: 780, Failed: 52, TimedOut: 2, Error: 4,
			Duration: httpapi.Quantiles{Count: 800, Median: 183, P95: 301},
			Verdict:  httpapi.Quantiles{Count: 800, Median: 240, P95: 431}, Queue: httpapi.Quantiles{Count: 800, Median: 9, P95: 48.3}}}
	now, p := time.Now().UTC(), &in.Period
	p.From, p.To = now.AddDate(0, 0, 1-q.Days).Format(time.DateOnly), now.Format(time.DateOnly)
	for i := range q.Days {
		at := now.AddDate(0, 0, i+1-q.Days)
		all := weekly[(int(at.Weekday())+6)%7] + i*5%8
		d := httpapi.InsightsDay{Day: at.Format(time.DateOnly), Passed: all, Failed: i * i % 4, NoVerdict: i % 4}
		if i%9 == 5 {
			d.Error = 1
		}
		if i%13 == 3 {
			d.TimedOut = 1
		}
		if i%11 == 8 {
			d.Failed += 4
		}
		if at.Weekday() != time.Sunday {
			d.Duration = httpapi.Quantiles{Count: all, Median: 180 + float64(i*37%29), P95: 270 + float64(i*53%71)}
		}
		p.Passed, p.Failed, p.TimedOut, p.Error, p.NoVerdict = p.Passed+d.Passed, p.Failed+d.Failed, p.TimedOut+d.TimedOut, p.Error+d.Error, p.NoVerdict+d.NoVerdict
		in.Daily = append(in.Daily, d)
	}
	p.Runs = p.Passed + p.Failed + p.TimedOut + p.Error + p.NoVerdict
	decided := p.Passed + p.Failed
	p.Duration, p.Verdict, p.Queue = httpapi.Quantiles{Count: decided, Median: 192, P95: 298},
		httpapi.Quantiles{Count: decided + p.TimedOut + p.Error, Median: 231, P95: 400}, httpapi.Quantiles{Count: decided, Median: 8, P95: 48}
	p.Repeated = 12
	in.Ends = []httpapi.InsightsEnd{{State: v1alpha1.ReasonPassed, Runs: p.Passed}, {State: v1alpha1.ReasonSuperseded, Runs: 63},
		{State: v1alpha1.ReasonFailed, Runs: p.Failed},
		{State: v1alpha1.ReasonInconclusive, Reason: "The deployment changed while the tests ran", Runs: 5}, {State: v1alpha1.ReasonError,
			Reason: "The image … does not exist", Runs: p.Error}, {State: v1alpha1.ReasonTimedOut, Runs: p.TimedOut}, {State: v1alpha1.ReasonCanceled, Runs: 1}}
	in.LeastReliable = unreliable()
	in.LeastReliable[0].Failed = p.Failed*2/3 + 1
	in.Slowest = []httpapi.SlowTest{
		{Name: "checkout › full journey with 3-D Secure", Place: inPlace("checkout", "staging"), MedianMilliseconds: 98_000, Change: new(.12)},
		{Name: "visual › home page, all themes", Place: inPlace("visual", "staging"), MedianMilliseconds: 71_000, Change: new(-.004)},
		{Name: "search › 10,000 results", Place: smokeStaging, MedianMilliseconds: 44_000, Change: new(-.08)},
		{Name: "account › export of data", Place: smokeStaging, MedianMilliseconds: 9_800},
	}
	return in
}

// testRuns are the last of a test, newest first: a letter each, as in httpapi.TestStats, the oldest first.
func testRuns(outcomes string, in httpapi.Place, every time.Duration, message string) (runs []httpapi.TestRun) {
	states := map[byte]string{'p': httpapi.TestPassed, 'f': httpapi.TestFailed, 'r': httpapi.TestFlaky, 's': httpapi.TestSkipped}
	ids := []string{"smoke-4cplqekpnk1gtdjr", "smoke-1sta", "smoke-2sup", "smoke-8pr3"}
	for i := range len(outcomes) {
		letter := outcomes[len(outcomes)-1-i]
		r := httpapi.TestRun{ID: ids[i%len(ids)], Place: in, Repository: "acme/shop", Branch: "main",
			SHA:       commit([]string{"b776998c", "9c1d2e3f", "41aa90c2", "0d4c77e1"}[i%4]),
			CreatedAt: before(12*minute + time.Duration(i)*every), State: states[letter], Milliseconds: 1900 + int64(i*379%700)}
		switch letter {
		case 'f':
			r.Milliseconds, r.Message = 5000+int64(i*7%60), message
		case 's':
			r.Milliseconds = 0
		}
		runs = append(runs, r)
	}
	return runs
}

func sampleFailing(days int) httpapi.TestHistory {
	const message = "Timed out 5000ms waiting for expect(locator).toBeHidden()"
	text := message + "\nLocator: getByRole('row', { name: 'Home' })\n  86 |   await page.getByRole('button', { name: 'Delete' }).click()\n> 88 |   await expect(row).toBeHidden()\n     |                     ^\n    at account.spec.ts:88:21\n"
	runs := testRuns(strings.Repeat("p", 12)+"f"+strings.Repeat("p", 18)+"f"+strings.Repeat("p", 17)+strings.Repeat("f", 11),
		smokeProduction, 5*time.Hour, message)
	first := runs[10]
	first.ID = "smoke-7first"
	runs[10] = first
	h := httpapi.TestHistory{Name: failingTest, Suite: "account", File: "account.spec.ts", Line: 88, Days: days, Places: []httpapi.TestInPlace{
		{Place: smokeProduction, Runs: 214, Passed: 183, Failed: 31, Flips: 5, MedianMilliseconds: 2100, Last: runs,
			Failing: &httpapi.FailingSince{First: first, Before: &runs[11], Runs: 11,
				CompareURL: "https://github.com/acme/shop/compare/b776998c...9c1d2e3f"},
			Failures: []httpapi.FailureText{{Message: message, Text: text, Times: 11, FirstAt: first.CreatedAt, LastAt: runs[0].CreatedAt,
				LastRun: runs[0].ID},
				{Message: "Error: page.goto: net::ERR_CONNECTION_REFUSED", Times: 2, FirstAt: before(200 * time.Hour),
					LastAt: before(100 * time.Hour), LastRun: "smoke-1sta"}}},
		{Place: smokeStaging, Runs: 120, Passed: 120, MedianMilliseconds: 1900,
			Last: testRuns(strings.Repeat("p", 24), smokeStaging, 9*time.Hour, "")},
		{Place: inPlace("checkout", "staging"), Runs: 42, Passed: 40, Failed: 2, Flips: 4, MedianMilliseconds: 2300,
			Last: testRuns("pppppfpppppspppppfpppprp", inPlace("checkout", "staging"), 9*time.Hour, message)},
	}}
	return h
}

func sampleUnsure(days int) httpapi.TestHistory {
	runs := testRuns("pppfpprpfppppfppfppsppfpppprppfpppp", smokeStaging, 7*time.Hour, "Error: expected 3 items, got 2")
	return httpapi.TestHistory{Name: unsureTest, File: "cart.spec.ts", Line: 12, Days: days, Places: []httpapi.TestInPlace{
		{Place: smokeStaging, Runs: 214, Passed: 205, Failed: 9, Flaky: 4, Skipped: 1, Flips: 12, MedianMilliseconds: 3400, Last: runs,
			Failures: []httpapi.FailureText{
				{Message: "Error: expected 3 items, got 2", Times: 9, FirstAt: before(600 * time.Hour), LastAt: before(28 * time.Hour),
					LastRun: "smoke-1sta"}}}}}
}

func samplePassing(days int) httpapi.TestHistory {
	return httpapi.TestHistory{Name: "search › suggests while typing", File: "search.spec.ts", Days: days, Places: []httpapi.TestInPlace{
		{Place: smokeStaging, Runs: 198, Passed: 198, MedianMilliseconds: 890,
			Last: testRuns(strings.Repeat("p", 60), smokeStaging, 8*time.Hour, "")}}}
}

// say puts a text wherever tests, reports or clients can put one.
func (s *tests) say(text string) {
	stats := func() httpapi.TestStats {
		t := unreliable()[0]
		t.Name, t.File, t.Trigger, t.Environment, t.Outcomes = text, text, text, text, text
		return t
	}
	s.list = func(q history.Query) (httpapi.TestList, error) {
		return httpapi.TestList{Days: q.Days, Tests: append(unreliable(), stats()), Next: text, Problem: text}, nil
	}
	s.insights = func(q history.Query) (httpapi.Insights, error) {
		in := sampleInsights(q)
		in.Problem, in.Daily[0].Day, in.Places = text, text, append(in.Places, inPlace(text, text))
		in.LeastReliable[0] = stats()
		in.Slowest[0].Name, in.Slowest[0].Trigger = text, text
		in.Ends = append(in.Ends, httpapi.InsightsEnd{State: text, Reason: text, Runs: 1})
		return in, nil
	}
	s.test = func(_ string, q history.Query) (httpapi.TestHistory, error) {
		h := sampleFailing(q.Days)
		h.Name, h.Suite, h.File, h.Problem = text, text, text, text
		in := &h.Places[0]
		in.Place = inPlace(text, text)
		in.Failures = append(in.Failures, httpapi.FailureText{Message: text, Text: text + "\n" + text, Times: 1, LastRun: text})
		r := httpapi.TestRun{ID: text, Place: in.Place, Repository: text, SHA: text, Branch: text, State: text, Message: text, URL: text}
		in.Last = append([]httpapi.TestRun{r}, in.Last...)
		in.Failing = &httpapi.FailingSince{First: r, Before: &r, CompareURL: text}
		return h, nil
	}
}
