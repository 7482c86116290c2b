package mcp

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

const (
	defaultTests = 20 // fit into a result, as a rule
	maxTests     = 50 // of a page
	maxDays      = 90 // the bound of the API
	maxTestRuns  = 15 // of the last runs of a test in a place; outcomes before them are counted
)

type testsIn struct {
	Search      string `json:"search,omitempty" jsonschema:"a part of the names; without it: the tests that failed or were repeated"`
	Trigger     string `json:"trigger,omitempty" jsonschema:"only runs of this Trigger"`
	Environment string `json:"environment,omitempty" jsonschema:"only runs in this Environment"`
	Days        int    `json:"days,omitempty" jsonschema:"how many days up to today, 30 by default"`
	Limit       int    `json:"limit,omitempty" jsonschema:"how many tests at most, 20 by default"`
	Cursor      string `json:"cursor,omitempty" jsonschema:"next of the page before"`
}

type testsOut struct {
	Days    int                 `json:"days"`
	Tests   []httpapi.TestStats `json:"tests"`             // the least reliable first
	Next    string              `json:"next,omitempty"`    // cursor of the next page
	Omitted []string            `json:"omitted,omitempty"` // sentences
}

type testIn struct {
	Name        string `json:"name" jsonschema:"the whole name of a test, as explain_run and list_tests have it"`
	Trigger     string `json:"trigger,omitempty" jsonschema:"only runs of this Trigger"`
	Environment string `json:"environment,omitempty" jsonschema:"only runs in this Environment"`
	Days        int    `json:"days,omitempty" jsonschema:"how many days up to today, 30 by default"`
}

type testOut struct {
	httpapi.TestHistory

	Omitted []string `json:"omitted,omitempty"` // sentences
}

func (s *Server) addTests() {
	add(s, tool[testsIn, testsOut]{
		name: "list_tests", title: "List tests",
		description: "Lists tests with how often they ran, failed and were flaky in the last days, the least reliable first, for each Trigger " +
			"and Environment. outcomes of its last 24 runs, the newest last: p passed, f failed, r failed and passed when " +
			"repeated, s skipped. failsSince is when the failures at their end began; it is absent if all 24 failed: get_test knows.",
		bounds: func(p map[string]*jsonschema.Schema) {
			upTo(p["limit"], maxTests)
			upTo(p["days"], maxDays)
		},
		call: listTests,
	})
	add(s, tool[testIn, testOut]{
		name: "get_test", title: "Show the history of a test",
		description: "Shows the history of one test for each Trigger and Environment. If it fails now, failing.first is the first run of the " +
			"row of failures, with the commit that was deployed then: the first bad deployment. failing.before is the last run in which it " +
			"passed, and failing.compareUrl compares both commits.",
		bounds: func(p map[string]*jsonschema.Schema) {
			upTo(p["days"], maxDays)
		},
		call: getTest, shrink: shrinkTest,
	})
}

func listTests(ctx context.Context, c *client.Client, in testsIn) (*testsOut, error) {
	limit := in.Limit
	if limit == 0 {
		limit = defaultTests
	}
	return fitting(limit, func(limit int) (*testsOut, error) {
		page, err := c.TestsPage(ctx, client.TestFilter{
			Trigger: in.Trigger, Environment: in.Environment, Search: in.Search, Days: in.Days, PageSize: limit,
		}, in.Cursor)
		if err != nil {
			return nil, err
		}
		out := &testsOut{Days: page.Days, Tests: page.Tests, Next: page.Next}
		if page.Problem != "" {
			out.Omitted = append(out.Omitted, page.Problem)
		}
		if page.Next != "" {
			out.Omitted = append(out.Omitted, "There are more tests: call list_tests again with next as cursor.")
		}
		return out, nil
	})
}

func getTest(ctx context.Context, c *client.Client, in testIn) (*testOut, error) {
	h, err := c.Test(ctx, in.Name, client.TestFilter{Trigger: in.Trigger, Environment: in.Environment, Days: in.Days})
	if err != nil {
		return nil, err
	}
	out := &testOut{TestHistory: *h}
	for i := range out.Places {
		if p := &out.Places[i]; len(p.Last) > maxTestRuns {
			p.Last = p.Last[:maxTestRuns]
			out.Omitted = once(out.Omitted, fmt.Sprintf("Each place has its last %d runs only: list_runs has all.", maxTestRuns))
		}
	}
	return out, nil
}

// shrinkTest keeps what a test says now, and since when it fails, to the last.
func shrinkTest(out *testOut) bool {
	for i := range out.Places {
		switch p := &out.Places[i]; {
		case len(p.Failures) > 1:
			p.Failures = p.Failures[:1]
			out.Omitted = once(out.Omitted, "Earlier failures with other messages are left out: explain_run has those of a run.")
			return true
		case len(p.Last) > 3:
			p.Last = p.Last[:3]
			out.Omitted = once(out.Omitted, "Some places have their last 3 runs only: name a trigger and an environment for more.")
			return true
		}
	}
	if n := len(out.Places); n > 1 {
		out.Places = out.Places[:n-1]
		out.Omitted = once(out.Omitted, "Places are left out, those that fail last of all: name a trigger and an environment.")
		return true
	}
	return false
}
