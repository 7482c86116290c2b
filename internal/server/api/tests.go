package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

func (a *API) listTests(w http.ResponseWriter, r *Request) error {
	p, err := parametersOf(r.URL.RawQuery, "search", "trigger", "environment", "days", "limit", "cursor")
	if err != nil {
		return err
	}
	q, err := testsQueryOf(p)
	if err != nil {
		return err
	}
	if q.Search = p["search"]; len(q.Search) > maxTestName {
		return invalidRequest("Send search with at most %d bytes.", maxTestName)
	}
	if q.Limit, err = p.number("limit", 1, maxTests, defaultTests); err != nil {
		return err
	}
	if q.After = p["cursor"]; q.After != "" && !history.ValidCursor(q.After) {
		return invalidCursor()
	}
	if err := a.mayAskTests(r); err != nil {
		return err
	}
	list, err := a.Tests.List(r.Context(), r.Principal.Team, q)
	if err != nil {
		return testsFailure(err)
	}
	r.audit = append(r.audit, "tests", len(list.Tests))
	writeJSON(w, "application/json", http.StatusOK, list)
	return nil
}

func (a *API) getTest(w http.ResponseWriter, r *Request) error {
	p, err := parametersOf(r.URL.RawQuery, "name", "trigger", "environment", "days")
	if err != nil {
		return err
	}
	q, err := testsQueryOf(p)
	if err != nil {
		return err
	}
	if name := p["name"]; name == "" || len(name) > maxTestName {
		return invalidRequest("Send name, the whole name of a test of at most %d bytes, as the results of a run have it.", maxTestName)
	}
	if err := a.mayAskTests(r); err != nil {
		return err
	}
	h, err := a.Tests.Test(r.Context(), r.Principal.Team, p["name"], q)
	if err != nil {
		return testsFailure(err)
	}
	for i := range h.Places {
		a.linkRuns(&h.Places[i])
	}
	writeJSON(w, "application/json", http.StatusOK, h)
	return nil
}

func (a *API) linkRuns(in *httpapi.TestInPlace) {
	link := func(r *httpapi.TestRun) {
		if r != nil {
			r.URL = publicurl.Join(a.PublicURL, "/runs/"+r.Namespace+"/"+r.ID)
		}
	}
	for i := range in.Last {
		link(&in.Last[i])
	}
	if in.Failing != nil {
		link(&in.Failing.First)
		link(in.Failing.Before)
	}
}

func (a *API) getInsights(w http.ResponseWriter, r *Request) error {
	p, err := parametersOf(r.URL.RawQuery, "trigger", "environment", "days")
	if err != nil {
		return err
	}
	q, err := testsQueryOf(p)
	if err != nil {
		return err
	}
	if err := a.mayAskTests(r); err != nil {
		return err
	}
	all, err := a.Tests.Insights(r.Context(), r.Principal.Team, q)
	if err != nil {
		return testsFailure(err)
	}
	writeJSON(w, "application/json", http.StatusOK, all)
	return nil
}

func testsQueryOf(p parameters) (q history.Query, err error) {
	q.Trigger, q.Environment = p["trigger"], p["environment"]
	q.Days, err = p.number("days", 1, history.MaxDays, history.DefaultDays)
	return q, err
}

// mayAskTests takes one of the places of requests that read from the archive.
func (a *API) mayAskTests(r *Request) error {
	if a.Tests == nil {
		return errNoStore
	}
	if r.acquire(a.listing) {
		return nil
	}
	return overloaded("The server is reading from the archive for as many requests as it can, or for as many of this team as leave room " +
		"for others. Send the request again in a few seconds.")
}

func testsFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &failure{code: "test_not_found", cause: err, message: "Test not found: no run of these days has a test of that name. Names are compared " +
			"exactly; GET /api/v0/tests?search= looks for a part of one. Tests are known from runs that ended a few seconds ago, and whose Trigger has results."}
	}
	if unavailable, ok := errors.AsType[*history.ArchiveError](err); ok {
		return &failure{code: "store_unavailable", cause: err, message: fmt.Sprintf("The history of tests cannot be read at the moment: the store: %s. "+
			"Ask again in a few seconds.", strings.TrimSuffix(unavailable.Error(), "."))}
	}
	return err
}
