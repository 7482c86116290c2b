package overview_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

// pastDeployments are lines of Environments; err: why none can be read.
type pastDeployments struct {
	lines map[string][]record.Deployment
	err   error
	asked []string
}

func (p *pastDeployments) DeploymentsAt(_ context.Context, team, environment string, at time.Time) ([]record.Deployment, error) {
	p.asked = append(p.asked, team+"/"+environment+" "+at.Format(time.RFC3339))
	all, found := p.lines[environment]
	if !found && p.err == nil {
		return nil, fs.ErrNotExist
	}
	return record.DeployedAt(all, at), p.err
}

func (p *pastDeployments) DeploymentHistory(_ context.Context, _, environment string, _ record.Span, limit int) ([]record.Deployment,
	bool, error) {
	all, found := p.lines[environment]
	if !found && p.err == nil {
		return nil, false, fs.ErrNotExist
	}
	return all[:min(len(all), limit)], len(all) > limit, p.err
}

func pastLine(environment, commit string, hoursAgo int) record.Deployment {
	return record.Deployment{Team: apitest.Namespace, Namespace: apitest.Namespace, Environment: environment, Deployment: httpapi.Deployment{
		Repository: "acme/shop", SHA: commit, ReportedBy: "Workload",
		Since: apitest.Noon.Truncate(time.Second).Add(-time.Duration(hoursAgo) * time.Hour),
	}}
}

// TestEnvironmentAt: what was deployed at a time, also to an Environment that is gone.
func TestEnvironmentAt(t *testing.T) {
	staging := anEnvironment("staging",
		v1alpha1.Deployed{Repository: "acme/shop", SHA: "cccc", Since: new(metav1.NewTime(apitest.Noon.Add(-time.Hour)))})
	theirs := anEnvironment("theirs")
	theirs.Namespace = "other"
	p := &pastDeployments{lines: map[string][]record.Deployment{
		"staging": {pastLine("staging", "bbbb", 3), pastLine("staging", "aaaa", 10)}, "gone": {pastLine("gone", "aaaa", 30)},
		"former-team": {pastLine("former-team", "aaaa", 24*100)},
	}}
	owner := apitest.Team(apitest.Namespace)
	owner.CreationTimestamp = metav1.NewTime(apitest.Noon.AddDate(0, 0, -50))
	objects := []client.Object{owner, apitest.APIKey(apitest.GoodKey), staging, theirs}
	h := apitest.Start(t, apitest.Setup{Objects: objects, Config: func(c *api.Config) { c.Deployments = p }})
	at := func(text string) string { return "?at=" + url.QueryEscape(text) }
	for path, want := range map[string]string{
		"/staging" + at("0s"): "200 cccc", "/staging" + at("2h"): "200 bbbb", "/staging" + at("9h"): "200 aaaa", "/staging" + at("11h"): "200 ",
		"/staging" + at("2026-11-20T09:30Z"): "200 bbbb", "/staging" + at("2026-11-20 09:30"): "200 bbbb",
		"/staging" + at("2026-11-20T10:30:00+01:00"): "200 bbbb",
		"/gone" + at("2h"):                           "200 aaaa", "/gone" + at("40h"): "404 environment_not_found", "/former-team" + at("2h"): "404 environment_not_found",
		"/theirs" + at("2h"): "404 environment_not_found", "/nope" + at("2h"): "404 environment_not_found", "/gone": "404 environment_not_found",
		"/staging" + at("tomorrow"): "400 invalid_request", "/staging" + at("2027-01-01"): "400 invalid_request",
		"/staging?at=": "400 invalid_request", "/staging?when=2h": "400 invalid_request",
	} {
		w := h.Exchange(apitest.Get(environmentsPath + path))
		got := ""
		if w.Code == http.StatusOK {
			e := apitest.Decode[httpapi.EnvironmentStatus](t, w)
			got = "200 "
			for _, d := range e.Deployed {
				got += d.SHA
			}
			if e.At == nil || e.Team != apitest.Namespace || e.PageURL == "" {
				t.Errorf("%s: %+v", path, e)
			}
		} else {
			got = strings.TrimSpace(w.Result().Status[:4]) + " " + apitest.Decode[httpapi.Problem](t, w).FailureCode
		}
		if got != want || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, asked := range p.asked {
		if !strings.HasPrefix(asked, apitest.Namespace+"/") {
			t.Errorf("the archive was asked for %s", asked)
		}
	}
	p.err = errors.New("it refuses connections")
	for _, path := range []string{"/staging?at=2h", "/staging/deployments"} {
		if w := h.Exchange(apitest.Get(environmentsPath + path)); w.Code != http.StatusServiceUnavailable ||
			!strings.Contains(w.Body.String(), "the store: it refuses connections") {
			t.Errorf("%s, without the store: %d %s", path, w.Code, w.Body)
		}
	}
	if w := h.Exchange(apitest.Get(environmentsPath + "/staging")); w.Code != http.StatusOK {
		t.Errorf("the present needs no store: %d", w.Code)
	}
}

func TestListDeployments(t *testing.T) {
	staging := anEnvironment("staging",
		v1alpha1.Deployed{Repository: "acme/shop", SHA: "cccc", Since: new(metav1.NewTime(apitest.Noon.Add(-time.Hour)))})
	p := &pastDeployments{lines: map[string][]record.Deployment{"staging": {pastLine("staging", "bbbb", 3), pastLine("staging", "aaaa", 10)}}}
	h := apitest.Start(t, apitest.Setup{Objects: []client.Object{apitest.Team(apitest.Namespace), apitest.APIKey(apitest.GoodKey), staging},
		Config: func(c *api.Config) { c.Deployments = p }})
	for query, want := range map[string]string{"": "cccc bbbb aaaa", "?since=2h": "cccc bbbb", "?since=30m": "cccc",
		"?limit=2": "cccc bbbb more"} {
		w := h.Exchange(apitest.Get(environmentsPath + "/staging/deployments" + query))
		var got []string
		history := apitest.Decode[httpapi.DeploymentHistory](t, w)
		for _, d := range history.Deployments {
			got = append(got, d.SHA)
		}
		if history.More {
			got = append(got, "more")
		}
		if strings.Join(got, " ") != want || w.Code != http.StatusOK {
			t.Errorf("%s: %d %q, want %q", query, w.Code, got, want)
		}
	}
	for path, want := range map[string]int{
		"/nope/deployments": 404, "/staging/deployments?limit=0": 400, "/staging/deployments?limit=201": 400,
		"/staging/deployments?since=x": 400, "/staging/deployments?at=2h": 400,
	} {
		if w := h.Exchange(apitest.Get(environmentsPath + path)); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	h = apitest.Start(t, apitest.Setup{Objects: []client.Object{apitest.Team(apitest.Namespace), apitest.APIKey(apitest.GoodKey), staging}})
	if w := h.Exchange(apitest.Get(environmentsPath + "/staging?at=30m")); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), "cccc") {
		t.Errorf("without a store, the status is known: %d %s", w.Code, w.Body)
	}
}
