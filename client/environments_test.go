package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

var tuesday = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func TestEnvironments(t *testing.T) {
	environment := func(name string) httpapi.EnvironmentStatus {
		return httpapi.EnvironmentStatus{Name: name, Team: "acme", Namespace: "acme", Deployed: []httpapi.Deployed{{SHA: "5ca1ab1e"}},
			PageURL: "/environments/acme/" + name}
	}
	all := []httpapi.EnvironmentStatus{environment("a"), environment("b"), environment("c")}
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		switch name := strings.TrimPrefix(r.URL.Path, "/api/v0/environments"); name {
		case "":
			page, next := pageOf(all, r, 2)
			answer(w, http.StatusOK, httpapi.EnvironmentList{Environments: page, Next: next})
		case "/b":
			e := all[1]
			if at, err := time.Parse(time.RFC3339, r.URL.Query().Get("at")); err == nil {
				e.At = &at
			}
			answer(w, http.StatusOK, e)
		case "/b/deployments":
			if query := r.URL.RawQuery; query != "limit=7" && query != "limit=7&since=2026-11-24T10%3A00%3A00Z" {
				t.Errorf("the query is %s", query)
			}
			answer(w, http.StatusOK, httpapi.DeploymentHistory{Deployments: []httpapi.Deployment{{SHA: "5ca1ab1e", Since: tuesday}}, More: true})
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, strings.NewReplacer("unavailable", "environment_not_found", "503", "404", "Wait.",
				"There is none.").Replace(problem))
		}
	})
	c := connect(t, url)
	var names []string
	for e, err := range c.Environments(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name+" at "+strings.TrimPrefix(e.PageURL, url))
	}
	if got, want := strings.Join(names, ", "), "a at /environments/acme/a, b at /environments/acme/b, c at /environments/acme/c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e, err := c.Environment(t.Context(), "b"); err != nil || e.Deployed[0].SHA != "5ca1ab1e" || e.PageURL != url+"/environments/acme/b" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := c.EnvironmentAt(t.Context(), "b", tuesday.In(time.FixedZone("", 3600))); err != nil || e.At == nil || !e.At.Equal(tuesday) ||
		e.PageURL != url+"/environments/acme/b" {
		t.Errorf("%+v, %v", e, err)
	}
	for _, since := range []time.Time{{}, tuesday} {
		if h, err := c.EnvironmentHistory(t.Context(), "b", since, 7); err != nil || !h.More || h.Deployments[0].SHA != "5ca1ab1e" {
			t.Errorf("%+v, %v", h, err)
		}
	}
	_, err := c.Environment(t.Context(), "nope")
	if failed, ok := errors.AsType[*client.Error](err); !ok || failed.Problem.FailureCode != "environment_not_found" {
		t.Errorf("another team's: %v", err)
	}
}
