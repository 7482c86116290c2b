package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// explained is what the page gets of a report with one test, on its way through the document of its pod.
func explained(t *testing.T, failure string, uploaded ...results.File) func(*runs.Run) (results.Explanation, error) {
	t.Helper()
	var tests results.Tests
	report := `<testsuite><testcase name="pays"><failure message="m"><![CDATA[` + failure + `]]></failure>` +
		`<system-out>[[ATTACHMENT|files/a b.png]]` + "\n" + `[[ATTACHMENT|../../etc/passwd]]</system-out></testcase></testsuite>`
	if !tests.Add("junit.xml", strings.NewReader(report)) {
		t.Fatal("no report")
	}
	content, err := json.Marshal(results.Document{Counts: tests.Counts, Failures: results.Detailed(tests.Failures, uploaded), Files: uploaded})
	if err != nil {
		t.Fatal(err)
	}
	d, err := results.ParseDocument(content)
	if err != nil {
		t.Fatal(err)
	}
	return func(run *runs.Run) (results.Explanation, error) {
		e := results.NewExplainer(run.Suite.Status.Results)
		e.Add("pod-1", d)
		return e.Explanation(), nil
	}
}

// TestTextOfFailure: the page of a run shows what the report says of a failure, whatever that is.
func TestTextOfFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, failure string
		has             []string // in the page, before it is escaped
		lacks           []string
		cut             bool
	}{
		"Playwright": {"Lines and their indentation stay.",
			"Error: expect(locator).toBeVisible() failed\n\n    Locator: getByTestId('x')\n  > 3 |  a < b",
			[]string{"failed\n\n    Locator: getByTestId('x')\n  > 3 |  a < b"}, nil, false},
		"A script": {"It is text.", "a\n</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>",
			[]string{"</pre></details><script>alert(1)</script>"}, []string{"<script>alert", "<img src=x"}, false},
		"ANSI": {"It is no text.", "a\n\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\",
			[]string{"a\nred link"}, []string{"\x1b", "javascript:", "[31m"}, false},
		"One MB": {"It is cut.", "begin\n" + strings.Repeat("x", 1<<20), []string{"begin\nxxx", "The text was cut here."},
			[]string{strings.Repeat("x", 4097)}, true},
		"Invalid UTF-8": {"It is replaced.", "a\n\xff\xfe\xc3", []string{"a\n\uFFFD"}, []string{"\xff"}, false},
		"NUL":           {"It is left out.", "a\nb\x00c\x08\u202ed", []string{"a\nbcd"}, []string{"\x00", "\u202e"}, false},
		"A cut rune": {"None is cut in two.", "a\n" + strings.Repeat("é", 1<<20), []string{"a\néé", "The text was cut here."},
			[]string{"\uFFFD"}, true},
		"Go templates":   {"It is text.", "a\n{{.Team}}{{template `layout`}}", []string{"{{.Team}}{{template `layout`}}"}, nil, false},
		"Only a message": {"There is nothing to unfold.", "", nil, []string{"What the report says"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorld(t, samples())
			s := hostileRun(0, "plain")
			s.Status.Results.Failures = []v1alpha1.TestFailure{{Name: "pays", Message: "m"}}
			h.set(t, s)
			h.reader.explain = explained(t, tc.failure, results.File{Path: "files/a b.png", Bytes: 2048})
			got := h.browser(t, actKey).get("/runs/shop/" + s.Name)
			for _, want := range tc.has {
				if !strings.Contains(html.UnescapeString(got.body), want) {
					t.Errorf("%s\nthe page has no %q", tc.reason, want)
				}
			}
			for _, bad := range tc.lacks {
				if strings.Contains(got.body, bad) {
					t.Errorf("%s\nthe page has %q", tc.reason, bad)
				}
			}
			if got.code != http.StatusOK || !utf8.ValidString(got.body) || len(got.body) > 64<<10 ||
				strings.Contains(got.body, "was cut") != tc.cut {
				t.Errorf("%s\n%d, %d bytes", tc.reason, got.code, len(got.body))
			}
			if !strings.Contains(got.body, `/pod-pod-1/files/a%20b.png"`) || strings.Contains(got.body, "passwd") {
				t.Error("the page does not link to the attachment that was uploaded, or to another one")
			}
		})
	}
}

// TestTextsCannotBeRead: without the store, the page has what the status has, and says what is missing.
func TestTextsCannotBeRead(t *testing.T) {
	h := newWorld(t, samples())
	h.reader.explain = func(run *runs.Run) (results.Explanation, error) {
		return results.NewExplainer(run.Suite.Status.Results).Explanation(), errors.New("the store is off")
	}
	got := h.browser(t, actKey).get(failedRun)
	for _, want := range []string{"checkout › pays with a saved card", "What the reports say of the failures cannot be read at the moment."} {
		if got.code != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%d, no %q", got.code, want)
		}
	}
}

// TestFlakyTestsAreNamed: on the page of a run, those of the status, or more of them if the documents have more.
func TestFlakyTestsAreNamed(t *testing.T) {
	h := newWorld(t, samples())
	s := hostileRun(0, "plain")
	s.Status.Results = &v1alpha1.TestResults{Tests: 9, Passed: 9, Flaky: 3, FlakyTests: []string{"cart › recovers"}}
	h.set(t, s)
	b := h.browser(t, actKey)
	if got := b.get("/runs/shop/" + s.Name).body; !strings.Contains(got, "<li>cart › recovers <a") ||
		!strings.Contains(got, "/log/test?name=cart%20%e2%80%ba%20recovers") || !strings.Contains(got, "2 more are flaky") {
		t.Error("the page does not name the flaky test of the status")
	}
	h.reader.explain = func(*runs.Run) (results.Explanation, error) {
		return results.Explanation{Flaky: []string{"cart › recovers", "cart › pays", "cart › <b>"}}, nil
	}
	if got := b.get("/runs/shop/" + s.Name).body; !strings.Contains(got, "<li>cart › &lt;b&gt; <a") ||
		strings.Contains(got, "more are flaky") {
		t.Error("the page does not name the flaky tests of the documents")
	}
}

// TestDocumentOnPage: the page of a run says what to do, what changed since it was green, and since when each test fails.
func TestDocumentOnPage(t *testing.T) {
	h := newWorld(t, samples(), sampleFailures)
	body := h.browser(t, actKey).get(failedRun).body
	for _, want := range []string{
		`<p class="lead" id="why">2 of 120 tests failed, 1 of them new, the first: checkout › pays with a saved card.`, `<li>Start with the new failures, and with what was deployed since the run smoke-0a1b2c3d4e5f, which did not have them.</li>`,
		`The last green run tested <a class="mono" href="/runs/shop/smoke-0a1b2c3d4e5f">5e11f1a9</a>`, "5e11f1a9 → b776998c",
		`Fails since <relative-time long>`, `first with <a class="mono" href="/runs/shop/smoke-77d0">77d01b5e</a>`, "flaky in 3 of 48 runs",
		"postflight runs rerun --failed smoke-4cplqekpnk1gtdjr -n shop",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if elsewhere := h.browser(t, actKey).get(failedRun + "/log").body; !strings.Contains(elsewhere, "Start with the new failures") ||
		strings.Contains(elsewhere, "The last green run") {
		t.Error("the page of the log lacks what to do, or has what only the results have")
	}
}

// TestHistoryIsBounded: the page waits for the history of a failed run only until a deadline. For one that runs, it asks nothing.
func TestHistoryIsBounded(t *testing.T) {
	var asked []string
	h := newWorld(t, samples(), knownFailures(func(ctx context.Context, run *runs.Run, _ *httpapi.Failure) {
		asked = append(asked, run.ID.ID)
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the page waits without a bound")
		}
	}).with)
	b := h.browser(t, actKey)
	for _, address := range []string{failedRun, allPages["run-running"], failedRun + "/attempts"} {
		b.get(address)
	}
	if diff := cmp.Diff([]string{path.Base(failedRun)}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
