package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/history"
)

// ListTests returns a page of tests with how often they fail.
func (a *API) ListTests(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "search", "trigger", "environment", "days", "limit", "cursor")
	if err != nil {
		return err
	}
	q, err := testsQueryOf(p)
	if err != nil {
		return err
	}
	if q.Search = p["search"]; len(q.Search) > limits.MaxTestName {
		return exchange.InvalidRequest("Send search with at most %d bytes.", limits.MaxTestName)
	}
	if q.Limit, err = p.Number("limit", 1, limits.MaxTests, limits.DefaultTests); err != nil {
		return err
	}
	if q.After = p["cursor"]; q.After != "" && !history.ValidCursor(q.After) {
		return exchange.InvalidCursor()
	}
	if err := a.mayAskTests(r); err != nil {
		return err
	}
	list, err := a.Tests.List(r.Context(), r.Principal.Team, q)
	if err != nil {
		return testsFailure(err)
	}
	r.AddToAudit("tests", len(list.Tests))
	exchange.WriteJSON(w, http.StatusOK, list)
	return nil
}

// GetTest returns the history of a test.
func (a *API) GetTest(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "name", "trigger", "environment", "days")
	if err != nil {
		return err
	}
	q, err := testsQueryOf(p)
	if err != nil {
		return err
	}
	if name := p["name"]; name == "" || len(name) > limits.MaxTestName {
		return exchange.InvalidRequest("Send name, the whole name of a test of at most %d bytes, as the results of a run have it.",
			limits.MaxTestName)
	}
	if err := a.mayAskTests(r); err != nil {
		return err
	}
	h, err := a.Tests.Test(r.Context(), r.Principal.Team, p["name"], q)
	if err != nil {
		return testsFailure(err)
	}
	if err := a.addQuarantines(r, &h); err != nil {
		return err
	}
	for i := range h.Places {
		a.linkRuns(&h.Places[i])
	}
	exchange.WriteJSON(w, http.StatusOK, h)
	return nil
}

// addQuarantines sets which Quarantine a run of each place would apply to the test now.
func (a *API) addQuarantines(r *exchange.Request, h *httpapi.TestHistory) error {
	namespace := r.Principal.Team.NamespaceName()
	list := &v1alpha1.QuarantineList{}
	if err := a.Cache.List(r.Context(), list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the Quarantines of namespace %s: %w", namespace, err)
	}
	for i := range h.Places {
		p := &h.Places[i]
		if p.Namespace != namespace {
			continue
		}
		rules := quarantine.For(list.Items, p.Trigger, p.Environment, a.Clock.Now()).Rules
		if at := quarantine.Compile(rules).Find(h.Name); at >= 0 {
			p.Quarantine = &httpapi.TestQuarantine{Name: rules[at].Name, Until: rules[at].Until, Expired: rules[at].Expired}
		}
	}
	return nil
}

func (a *API) linkRuns(p *httpapi.TestInPlace) {
	link := func(r *httpapi.TestRun) {
		if r != nil {
			r.URL = publicurl.Join(a.PublicURL, "/runs/"+r.Namespace+"/"+r.ID)
		}
	}
	for i := range p.Last {
		link(&p.Last[i])
	}
	if p.Failing != nil {
		link(&p.Failing.First)
		link(p.Failing.Before)
	}
}

// GetInsights returns how runs and tests did in a period.
func (a *API) GetInsights(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "trigger", "environment", "days")
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
	exchange.WriteJSON(w, http.StatusOK, all)
	return nil
}

func testsQueryOf(p exchange.Parameters) (q history.Query, err error) {
	q.Trigger, q.Environment = p["trigger"], p["environment"]
	q.Days, err = p.Number("days", 1, history.MaxDays, history.DefaultDays)
	return q, err
}

func (a *API) mayAskTests(r *exchange.Request) error {
	if a.Tests == nil {
		return exchange.ErrNoStore
	}
	return a.AcquireArchive(r)
}

func testsFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &exchange.Failure{Code: "test_not_found", Cause: err,
			Message: "Test not found: no run of these days has a test of that name. Names are compared " +
				"exactly. To look for a part of one: postflight tests list PART. Tests are known from runs that ended a few seconds ago, and " +
				"whose Trigger has results."}
	}
	if unavailable, ok := errors.AsType[*history.ArchiveError](err); ok {
		return &exchange.Failure{Code: "store_unavailable", Cause: err,
			Message: fmt.Sprintf("The history of tests cannot be read at the moment: the store: %s. "+
				"Ask again in a few seconds.", strings.TrimSuffix(unavailable.Error(), "."))}
	}
	return err
}
