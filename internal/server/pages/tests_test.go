package pages_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// showTest is the path of the page of a test.
func showTest(name string) string { return "/tests/shop/show?name=" + url.QueryEscape(name) }

// has fails if the page lacks one of the texts.
func (b *browser) has(path string, want ...string) {
	b.t.Helper()
	got := b.get(path)
	for _, text := range want {
		if got.code != http.StatusOK || !strings.Contains(got.body, text) {
			b.t.Errorf("%s: %d, without %q", path, got.code, text)
		}
	}
}

// TestPagesOfTests: each begins with a sentence, draws with a table of the same, and leads to runs and tests.
func TestPagesOfTests(t *testing.T) {
	b := newWorld(t, samples(), sampleTests).browser(t, readKey)
	b.has("/insights/shop", "runs passed, ", "points more than in the 30 days before", "Most failures are one test:",
		`href="/tests/shop/show?environment=production&amp;name=account&#43;%E2%80%BA&#43;deletes&#43;an&#43;address&amp;trigger=smoke"`,
		"From deployment to verdict, p95", "31s shorter", `role="img" aria-label="Runs a day over 30 days:`,
		`<polyline class="low"`, "<th scope=\"col\">95th percentile</th>", `href="/runs/shop?archive=1&amp;state=TimedOut"`,
		"The image … does not exist", "square root", "12% slower",
		"<code>GET /api/v0/insights?days=30</code>")
	b.has("/insights/shop?days=7&trigger=smoke", `<option selected>smoke</option>`, "in the 7 days before",
		`href="?days=90&amp;trigger=smoke"`)
	b.has("/tests/shop", failingTest, "fails since", "comes and goes", "repeated 4 times", "failed in 31 of 214 runs",
		"Last 24 runs: 11 failed, 13 passed", `href="?after=next"`, `<span class="n">skipped</span>`)
	b.has("/tests/shop?q=keeps&days=90", unsureTest, `value="keeps"`, `href="?days=7&amp;q=keeps"`)
	b.has(showTest(failingTest), "Fails since <time", "in <b>smoke on production</b>, first with",
		`href="/runs/shop/smoke-7first">41aa90c2</a> on <span class="mono">main</span>`,
		"It passed with", `<meta name="description" content="Fails since `, `href="https://github.com/acme/shop/compare/b776998c...9c1d2e3f"`,
		"first failed with 41aa90c2", "kind: Quarantine", `- &#34;account › deletes an address&#34;`,
		"postflight tests show &#39;account › deletes an address&#39;", "Where it runs", "failed in 0 of 120 runs", "first failure", "11 times", "The runs as a table")
	b.has(showTest(failingTest)+"&trigger=smoke&environment=staging", "Runs in smoke on staging", "Fails since <time")
	b.has(showTest(unsureTest), "Comes and goes: 12 flips in 30 days. It passed in the last run, 12 minutes ago.", "always the same")
	b.has(showTest("search › suggests while typing"), "It passed in all 198 runs of the last 30 days.")
	b.has(failedRun, `href="/tests/shop/show?trigger=smoke&amp;environment=production&amp;name=account%20%e2%80%ba%20deletes%20an%20address">its history</a>`)
	b.has("/triggers/shop/checkout", `href="/insights/shop?trigger=checkout"`)
}

// TestEmptyPagesOfTests: whatever is missing, the page says what to do.
func TestEmptyPagesOfTests(t *testing.T) {
	all := []string{"/insights/shop", "/tests/shop", showTest("a > b")}
	without := newWorld(t, samples()).browser(t, readKey)
	for _, path := range all {
		without.has(path, "No object store is configured here", "--store-endpoint")
	}
	broken := &tests{
		insights: func(history.Query) (httpapi.Insights, error) { return httpapi.Insights{}, errors.New("refused") },
		list:     func(history.Query) (httpapi.TestList, error) { return httpapi.TestList{}, errors.New("refused") },
		test: func(string, history.Query) (httpapi.TestHistory, error) {
			return httpapi.TestHistory{}, errors.New("refused")
		},
	}
	unavailable := newWorld(t, samples(), broken.with).browser(t, readKey)
	for _, path := range all {
		unavailable.has(path, "The object store cannot be read at the moment", "Reload the page in a minute")
	}
	empty := &tests{
		insights: func(q history.Query) (httpapi.Insights, error) { return httpapi.Insights{Days: q.Days}, nil },
		list:     func(q history.Query) (httpapi.TestList, error) { return httpapi.TestList{Days: q.Days}, nil },
	}
	nothing := newWorld(t, samples(), empty.with).browser(t, readKey)
	nothing.has("/insights/shop", "No run ended in the last 30 days.", `href="?days=90"`, "start the first run")
	nothing.has("/insights/shop?days=90&trigger=smoke", "No run of the last 90 days fits.", `href="?days=90">show all runs of the team`)
	nothing.has("/tests/shop", "No test of the last 30 days failed or was repeated.", "results", "kubectl patch trigger NAME -n shop")
	nothing.has("/tests/shop?q=pay", "No test of the last 30 days has this in its name.", `href="?days=90&amp;q=pay"`, `href="?"`)
	nothing.has("/tests/shop?trigger=smoke", "No test failed or was repeated there in the last 30 days.")
	nothing.has(showTest("a > b"), "had a test of this name", `href="?days=90&amp;name=a%20%3e%20b"`)
	partly := &tests{
		insights: func(q history.Query) (httpapi.Insights, error) {
			in := sampleInsights(q)
			in.LeastReliable, in.Slowest, in.Problem = nil, nil, "3 days are missing, because their summaries cannot be read."
			return in, nil
		},
		list: func(q history.Query) (httpapi.TestList, error) {
			return httpapi.TestList{Days: q.Days, Problem: "3 days are missing."}, nil
		},
		test: func(name string, q history.Query) (httpapi.TestHistory, error) {
			h := sampleFailing(q.Days)
			h.Name, h.Problem = name, "3 days are missing."
			return h, nil
		},
	}
	some := newWorld(t, samples(), partly.with).browser(t, readKey)
	some.has("/insights/shop?trigger=smoke", "3 days are missing, because", "These runs reported no tests.",
		"kubectl patch trigger smoke -n shop")
	some.has("/tests/shop", "3 days are missing.")
	some.has(showTest("x"), "3 days are missing.", "Fails since")
}

// TestWhatPagesOfTestsAskFor: no more than a page shows, and nothing to people who must not see it.
func TestWhatPagesOfTestsAskFor(t *testing.T) {
	fake := &tests{}
	b := newWorld(t, samples(), fake.with).browser(t, readKey)
	for _, path := range []string{"/insights/shop?days=90&trigger=smoke&environment=staging&q=ignored", "/tests/shop?days=12&q=pay&after=x",
		showTest(failingTest) + "&trigger=smoke&days=7"} {
		b.get(path)
	}
	want := []history.Query{
		{Days: 90, Trigger: "smoke", Environment: "staging"},
		{Days: 30, Search: "pay", Limit: 50, After: "x"},
		{Days: 7},
	}
	if diff := cmp.Diff(want, fake.asked); diff != "" {
		t.Error(diff)
	}
	for path, key := range map[string]string{"/insights/shop": otherKey, "/tests/shop": otherKey, showTest(failingTest): otherKey,
		"/tests/shop/show":                 readKey,
		showTest(strings.Repeat("x", 513)): readKey} {
		if got := b.h.browser(t, key).get(path); got.code != http.StatusNotFound {
			t.Errorf("%.60s: %d, want 404", path, got.code)
		}
	}
	if len(fake.asked) != len(want) {
		t.Error("a page asked for what its reader may not see")
	}
}

// manyPlaces is a test of 120 places, with names as long as they may be.
func manyPlaces(name string, q history.Query) (httpapi.TestHistory, error) {
	h := sampleFailing(q.Days)
	h.Name, h.Suite, h.File = name, strings.Repeat("suite", 100), strings.Repeat("folder/", 70)+"x.spec.ts"
	place := h.Places[0]
	for i := range 120 {
		place.Place = inPlace(fmt.Sprintf("trigger-with-a-name-that-is-as-long-as-names-may-be-%010d", i), fmt.Sprintf("environment-%d", i))
		h.Places = append(h.Places, place)
	}
	return h, nil
}

func TestLongPageOfATest(t *testing.T) {
	long := strings.Repeat("ganzlangername", 36)
	fake := &tests{test: manyPlaces}
	b := newWorld(t, samples(), fake.with).browser(t, readKey)
	b.has(showTest(long), long, "It runs in 23 more places.", "It fails in 120 other places, too.")
	hidden := "a\u202Eb\u0000c\u200Bd\x1b[31me"
	if got := b.get(showTest(hidden)); !strings.Contains(got.body, "<span>abcde</span>") ||
		strings.ContainsAny(got.body, "\u202E\x00\u200B\x1b") {
		t.Error("the page of a test shows invisible characters, or not the others")
	}
}
