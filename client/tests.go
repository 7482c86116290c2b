package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/postflight-dev/postflight/api/httpapi"
)

type (
	// TestStats are figures of one test in one Trigger and Environment.
	TestStats = httpapi.TestStats
	// TestHistory is what is known of one test.
	TestHistory = httpapi.TestHistory
	// TestInPlace is a test in one Trigger and Environment.
	TestInPlace = httpapi.TestInPlace
	// TestRun is a run that a test was in.
	TestRun = httpapi.TestRun
	// Place is a Trigger and an Environment.
	Place = httpapi.Place
	// Insights are figures of the runs of some days.
	Insights = httpapi.Insights
)

// TestFilter selects runs of tests. A zero field selects all.
type TestFilter struct {
	Trigger     string
	Environment string
	Search      string // a part of the names of tests, for Tests; "": those that failed or were repeated
	Days        int    // up to today; 0: 30
	PageSize    int    // how many tests to request at a time, 1 to 100; 0: the server decides
}

func (f TestFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"trigger": f.Trigger, "environment": f.Environment} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Days > 0 {
		q.Set("days", strconv.Itoa(f.Days))
	}
	return q
}

// listQuery also has what only a list of tests knows.
func (f TestFilter) listQuery() url.Values {
	q := f.query()
	if f.Search != "" {
		q.Set("search", f.Search)
	}
	if f.PageSize > 0 {
		q.Set("limit", strconv.Itoa(f.PageSize))
	}
	return q
}

// Tests returns tests of the team, the least reliable first, page by page. An error is the last entry.
func (c *Client) Tests(ctx context.Context, f TestFilter) iter.Seq2[TestStats, error] {
	return func(yield func(TestStats, error) bool) {
		cursor := ""
		for {
			page, err := c.TestsPage(ctx, f, cursor)
			if err != nil {
				yield(TestStats{}, err)
				return
			}
			for _, t := range page.Tests {
				if !yield(t, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			cursor = page.Next
		}
	}
}

// Test returns the history of a test, by its whole name.
func (c *Client) Test(ctx context.Context, name string, f TestFilter) (*TestHistory, error) {
	q := f.query()
	q.Set("name", name)
	h, err := request[TestHistory](ctx, c, http.MethodGet, "/api/v0/tests/history?"+q.Encode(), nil, nil)
	if err != nil {
		return nil, err
	}
	for i := range h.Places {
		place := &h.Places[i]
		for j := range place.Last {
			c.resolveLink(&place.Last[j].URL)
		}
		if place.Failing != nil {
			c.resolveLink(&place.Failing.First.URL)
			if place.Failing.Before != nil {
				c.resolveLink(&place.Failing.Before.URL)
			}
		}
	}
	return h, nil
}

// Insights returns the figures of the runs of some days.
func (c *Client) Insights(ctx context.Context, f TestFilter) (*Insights, error) {
	return request[Insights](ctx, c, http.MethodGet, "/api/v0/insights?"+f.query().Encode(), nil, nil)
}
