package results_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestMissing compares what pods left in the store, as the collector writes it.
func TestMissing(t *testing.T) {
	pod := func(names ...string) results.Document {
		var cases strings.Builder
		for _, name := range names {
			fmt.Fprintf(&cases, "<testcase name=%q/>", name)
		}
		tests := &results.Tests{}
		tests.Add("r.xml", strings.NewReader("<testsuite>"+cases.String()+"</testsuite>"))
		s := tests.Summary()
		return results.Document{Counts: s.Counts, PassedTests: s.PassedTests, NamesDigest: s.NamesDigest}
	}
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprint("test ", i)
	}
	const unknown = "the store does not have the names of all of them"
	for name, tc := range map[string]struct {
		before, now []results.Document
		lost        int32 // tests that passed before, and whose document is gone
		want        string
	}{
		"the same":             {[]results.Document{pod("a", "b")}, []results.Document{pod("b", "a")}, 0, ""},
		"one more":             {[]results.Document{pod("a", "b")}, []results.Document{pod("a", "b", "c")}, 0, ""},
		"one is missing":       {[]results.Document{pod("a", "b")}, []results.Document{pod("a", "c")}, 0, "1 test that passed there did not run here"},
		"all are missing":      {[]results.Document{pod("a", "b")}, []results.Document{pod()}, 0, "2 tests that passed there did not run here"},
		"other shards":         {[]results.Document{pod("a", "b"), pod("c")}, []results.Document{pod("c", "a"), pod("b")}, 0, ""},
		"a shard is missing":   {[]results.Document{pod("a", "b"), pod("c")}, []results.Document{pod("a", "b")}, 0, "1 test that passed there did not run here"},
		"the same, many":       {[]results.Document{pod(many...)}, []results.Document{pod(many...)}, 0, ""},
		"one is missing, many": {[]results.Document{pod(many...)}, []results.Document{pod(many[1:]...)}, 0, "its pods have more than 400 tests, so their names are not compared"},
		"a document is gone":   {[]results.Document{pod("a", "b")}, []results.Document{pod("a", "b")}, 3, unknown},
		"no later document":    {[]results.Document{pod("a", "b")}, nil, 0, unknown},
		"nothing is known":     {nil, []results.Document{pod("a")}, 1, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			passed := tc.lost
			for _, d := range tc.before {
				passed += d.Passed
			}
			if got := results.Missing(tc.before, passed, tc.now); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestFewerOfAJob: a Job remembers what its Trigger said.
func TestFewerOfAJob(t *testing.T) {
	for _, f := range []results.Fewer{{}, {Policy: "Fail"}, {Percent: 5}, {Policy: "Report", Percent: 100}} {
		if got := results.ParseFewer(f.String()); got != f {
			t.Errorf("%+v became %+v", f, got)
		}
	}
	for _, text := range []string{"", "Fail", "Fail/x", "Fail/-1", "Fail/101", "/"} {
		if got := results.ParseFewer(text); got != (results.Fewer{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
