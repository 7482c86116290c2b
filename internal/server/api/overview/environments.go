package overview

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
)

// ListEnvironments returns a page of the Environments of a team.
func (a *API) ListEnvironments(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := p.Number("limit", 1, limits.MaxEnvironments, limits.DefaultEnvironments)
	if err != nil {
		return err
	}
	all, err := index.Environments(r.Context(), a.Cache, r.Principal.Team.NamespaceName())
	if err != nil {
		return environmentsUnavailable(err)
	}
	found, more := record.EnvironmentsAfter(p["cursor"], all, limit, limits.MaxPageWorkloads)
	page := httpapi.EnvironmentList{Environments: []httpapi.EnvironmentStatus{}}
	for _, e := range found {
		shown, err := a.shownEnvironment(r, e)
		if err != nil {
			return environmentsUnavailable(err)
		}
		page.Environments = append(page.Environments, shown)
	}
	if more {
		page.Next = found[len(found)-1].Name
	}
	r.AddToAudit("environments", len(found))
	exchange.WriteJSON(w, http.StatusOK, page)
	return nil
}

// CheckKnown hides Environments that do not exist for the sender.
func (a *API) CheckKnown(r *exchange.Request, name string) error {
	granted := r.Principal.Grant
	if name == "" || granted.Knows(name) {
		return nil
	}
	e := &v1alpha1.Environment{}
	err := a.Cache.Get(r.Context(), types.NamespacedName{Namespace: r.Principal.Team.NamespaceName(), Name: name}, e)
	if err == nil && granted.Knows(suite.BaseOf(e)) {
		return nil
	}
	return environmentNotFound(err)
}

// GetEnvironment returns what an Environment has, or had at a time.
func (a *API) GetEnvironment(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "at")
	if err != nil {
		return err
	}
	name := types.NamespacedName{Namespace: r.Principal.Team.NamespaceName(), Name: r.PathValue("name")}
	if r.PathValue("rest") != "" {
		return environmentNotFound(nil)
	}
	if text, asked := p["at"]; asked {
		return a.getEnvironmentAt(w, r, text)
	}
	e := &v1alpha1.Environment{}
	err = a.Cache.Get(r.Context(), name, e)
	switch {
	case apierrors.IsNotFound(err):
		return environmentNotFound(err)
	case err != nil:
		return environmentsUnavailable(err)
	}
	shown, err := a.shownEnvironment(r, e)
	if err != nil {
		return environmentsUnavailable(err)
	}
	r.AddToAudit("environment", e.Name)
	exchange.WriteJSON(w, http.StatusOK, shown)
	return nil
}

func (a *API) shownEnvironment(r *exchange.Request, e *v1alpha1.Environment) (httpapi.EnvironmentStatus, error) {
	runs, err := index.Suites(r.Context(), a.Cache, e.Namespace, index.Deployed, e.Name)
	if err != nil {
		return httpapi.EnvironmentStatus{}, err
	}
	now := a.Clock.Now()
	shown := record.EnvironmentOf(r.Team(), workloads.WithCurrent(e, runs), now)
	shown.PageURL = a.environmentURL(shown)
	shown.Settling = queue.SettlingOf(e, queue.BurstOf(e, runs), now)
	return shown, nil
}

func (a *API) getEnvironmentAt(w http.ResponseWriter, r *exchange.Request, text string) error {
	name := strings.Clone(r.PathValue("name"))
	at, err := record.ParseMoment(text, a.Clock.Now())
	if err != nil {
		return exchange.InvalidRequest("Send at as a time that is over: %v.", err)
	}
	if err := a.mayAskArchive(r); err != nil {
		return err
	}
	s, err := a.earlier.At(r.Context(), r.Principal.Team, name, at)
	if err != nil {
		return environmentFailure(err)
	}
	s.PageURL = a.environmentURL(s)
	r.AddToAudit("environment", name, "at", at)
	exchange.WriteJSON(w, http.StatusOK, s)
	return nil
}

// ListDeployments returns what was deployed to an Environment, newest first.
func (a *API) ListDeployments(w http.ResponseWriter, r *exchange.Request) error {
	p, err := exchange.ParametersOf(r.URL.RawQuery, "since", "limit")
	if err != nil {
		return err
	}
	limit, err := p.Number("limit", 1, limits.MaxDeployments, limits.DefaultDeployments)
	if err != nil {
		return err
	}
	name := strings.Clone(r.PathValue("name"))
	after := time.Time{}
	if text, asked := p["since"]; asked {
		if after, err = record.ParseMoment(text, a.Clock.Now()); err != nil {
			return exchange.InvalidRequest("Send since as a time that is over: %v.", err)
		}
	}
	if err := a.mayAskArchive(r); err != nil {
		return err
	}
	history, err := a.earlier.History(r.Context(), r.Principal.Team, name, after, limit)
	if err != nil {
		return environmentFailure(err)
	}
	r.AddToAudit("environment", name, "deployments", len(history.Deployments))
	exchange.WriteJSON(w, http.StatusOK, history)
	return nil
}

// mayAskArchive takes one of the places of requests that read from the archive, if there is one to read.
func (a *API) mayAskArchive(r *exchange.Request) error {
	if a.Deployments == nil {
		return nil
	}
	return a.AcquireArchive(r)
}

func (a *API) environmentURL(e httpapi.EnvironmentStatus) string {
	return publicurl.Join(a.PublicURL, "/environments/"+e.Namespace+"/"+e.Name)
}

func environmentFailure(err error) error {
	if errors.Is(err, environments.ErrNotFound) {
		return environmentNotFound(err)
	}
	if away, ok := errors.AsType[*environments.ArchiveError](err); ok {
		return &exchange.Failure{Code: "unavailable", Cause: err,
			Message: fmt.Sprintf("What was deployed earlier cannot be read from the archive at the moment: the store: %v. "+
				"Ask again in a few seconds.", away)}
	}
	return environmentsUnavailable(err)
}

func environmentNotFound(err error) error {
	return &exchange.Failure{Code: "environment_not_found", Cause: err,
		Message: "Environment not found: this team has no Environment of that name. " +
			"Check the name and the API key; ephemeral Environments are deleted after a while, and ?at= says what they had before."}
}

func environmentsUnavailable(err error) error {
	return &exchange.Failure{Code: "unavailable", Cause: err,
		Message: "Environments cannot be looked up at the moment. Ask again in a few seconds."}
}
