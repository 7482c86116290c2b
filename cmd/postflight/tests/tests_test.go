package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/clitest"
)

var program = clitest.Program{New, NewSince}

var smokeOnStaging = httpapi.Place{Namespace: "acme", Trigger: "smoke", Environment: "staging"}

// serveTests knows a test that fails since its second run, under a name that is hostile to terminals.
func serveTests(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path == "/api/v0/tests" {
		list := httpapi.TestList{Days: 30, Tests: []httpapi.TestStats{}}
		if q.Get("search") != "none" {
			list.Tests = append(list.Tests, httpapi.TestStats{Name: "cart > keeps \x1b[2Jitems", Place: smokeOnStaging, Runs: 7, Failed: 2,
				MedianMilliseconds: 2140, Outcomes: "psr-f", FailsSince: new(clitest.Noon)})
		}
		if q.Get("cursor") == "" && q.Get("search") == "" {
			list.Next = "second"
		}
		clitest.Reply(w, http.StatusOK, list)
		return
	}
	if q.Get("name") != "cart > keeps items" {
		clitest.Fail(w, http.StatusNotFound, "test_not_found", "Test not found: no run of these days has a test of that name.")
		return
	}
	run := func(id, sha, state string, at time.Time) httpapi.TestRun {
		return httpapi.TestRun{ID: id, Place: smokeOnStaging, SHA: sha, Branch: "main", CreatedAt: at, State: state, Milliseconds: 2140,
			URL: "/runs/acme/" + id}
	}
	first, before := run("smoke-2", "9c1d2e3", "Failed", clitest.Noon), run("smoke-1", "b776998", "Passed", clitest.Noon.Add(-time.Hour))
	failing := httpapi.TestInPlace{
		Place: smokeOnStaging, Runs: 2, Passed: 1, Failed: 1, Flips: 1, MedianMilliseconds: 2140, Last: []httpapi.TestRun{first, before},
		Failing: &httpapi.FailingSince{First: first, Before: &before, Runs: 1,
			CompareURL: "https://github.com/acme/shop/compare/b776998...9c1d2e3"},
		Failures: []httpapi.FailureText{{Message: "expected \x1b[2J200", Times: 1, LastRun: "smoke-2"}},
	}
	fine := httpapi.TestInPlace{Place: httpapi.Place{Namespace: "acme", Trigger: "e2e", Environment: "production"}, Runs: 1, Passed: 1,
		Last: []httpapi.TestRun{run("e2e-1", "b776998", "Passed", clitest.Noon)}}
	clitest.Reply(w, http.StatusOK, httpapi.TestHistory{Name: "cart > keeps items", Days: 30, Places: []httpapi.TestInPlace{failing, fine},
		Problem: "The summary of one day cannot be read. Its runs are missing here."})
}

func TestTestsCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		code     int
		out, log []string
		sent     []string
	}{
		"list": {args: []string{"tests", "list", "--environment", "staging"},
			out: []string{"cart > keeps items", "smoke on staging", ".sR-F",
				"2.14s"}, sent: []string{"GET /api/v0/tests?days=30&environment=staging",
				"GET /api/v0/tests?cursor=second&days=30&environment=staging"}},
		"list of one": {args: []string{"tests", "list", "--limit", "1"}, out: []string{"cart > keeps items"},
			log: []string{"Showing the first 1; --limit 0 shows all."}},
		"search": {args: []string{"tests", "ls", "none", "--days", "7"}, log: []string{`No test of these 7 days has "none" in its name.`},
			sent: []string{"GET /api/v0/tests?days=7&search=none"}},
		"too many days": {args: []string{"tests", "list", "--days", "91"}, code: 3, log: []string{"--days 91: from 1 to 90 are possible"}},
		"show": {args: []string{"tests", "show", "cart > keeps items"},
			sent: []string{"GET /api/v0/tests/history?days=30&name=cart+%3E+keeps+items"}, out: []string{"smoke-2", "9c1d2e3",
				"Failed"}, log: []string{
				"smoke on staging: it has failed since " + clitest.Noon.Format(time.RFC3339) +
					", first with 9c1d2e3 on main. It passed with b776998 on main before.",
				"It failed in 1 of 2 runs, and passed only when repeated in 0. It flipped 1 time, and takes 2.14s.", "1 time, last in smoke-2: expected 200",
				"e2e on production: it does not fail.", "Warning: The summary of one day"}},
		"show another": {args: []string{"tests", "show", "cart"}, code: 1,
			log: []string{"no run of these days has a test of that name. [404 test_not_found, eventId E1]"}},
		"since": {args: []string{"since", "cart > keeps items", "--environment", "staging"},
			log: []string{"first with 9c1d2e3 on main", "First failure: http", "/runs/acme/smoke-2",
				"Changes: https://github.com/acme/shop/compare/b776998...9c1d2e3"},
			sent: []string{"GET /api/v0/tests/history?days=90&environment=staging&name=cart+%3E+keeps+items"}},
		"since as JSON": {args: []string{"since", "cart > keeps items", "-o", "json"}, out: []string{`"sha": "9c1d2e3"`, `"last": []`}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &clitest.API{Tests: serveTests}
			api.Start(t)
			out, log := program.Expect(t, tc.code, tc.out, tc.log, tc.args...)
			if strings.Contains(out+log, "\x1b") {
				t.Errorf("the output is not clean: %q%q", out, log)
			}
			if tc.sent != nil {
				if diff := cmp.Diff(tc.sent, api.Requests); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
