package api

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/publicurl"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

func (a *API) listEnvironments(w http.ResponseWriter, r *Request) error {
	p, err := parametersOf(r.URL.RawQuery, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := p.number("limit", 1, maxEnvironments, defaultEnvironments)
	if err != nil {
		return err
	}
	all, err := a.environmentsOf(r.Context(), r.Principal.Team)
	if err != nil {
		return environmentsUnavailable(err)
	}
	found, more := record.EnvironmentsAfter(p["cursor"], all, limit, maxPageWorkloads)
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
	r.audit = append(r.audit, "environments", len(found))
	writeJSON(w, "application/json", http.StatusOK, page)
	return nil
}

// environmentsOf returns objects of the cache, which must not be changed.
func (a *API) environmentsOf(ctx context.Context, team *v1alpha1.Team) ([]*v1alpha1.Environment, error) {
	list := &v1alpha1.EnvironmentList{}
	if err := a.Cache.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(team.NamespaceName())); err != nil {
		return nil, err
	}
	all := make([]*v1alpha1.Environment, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

func (a *API) getEnvironment(w http.ResponseWriter, r *Request) error {
	name := types.NamespacedName{Namespace: r.Principal.Team.NamespaceName(), Name: r.PathValue("name")}
	if r.PathValue("rest") != "" {
		return environmentNotFound(nil)
	}
	e := &v1alpha1.Environment{}
	err := a.Cache.Get(r.Context(), name, e)
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
	r.audit = append(r.audit, "environment", e.Name)
	writeJSON(w, "application/json", http.StatusOK, shown)
	return nil
}

// shownEnvironment reads the runs only of an Environment that may have to settle.
func (a *API) shownEnvironment(r *Request, e *v1alpha1.Environment) (httpapi.EnvironmentStatus, error) {
	now := a.Clock.Now()
	shown := record.EnvironmentOf(r.team(), e, now)
	shown.PageURL = publicurl.Join(a.PublicURL, "/environments/"+e.Namespace+"/"+e.Name)
	if e.Spec.Settle == nil {
		return shown, nil
	}
	runs, err := index.Suites(r.Context(), a.Cache, e.Namespace, index.Deployed, e.Name)
	shown.Settling = suite.SettlingOf(e, suite.BurstOf(e, runs), now)
	return shown, err
}

func environmentNotFound(err error) error {
	return &failure{code: "environment_not_found", cause: err, message: "Environment not found: this team has no Environment of that name. " +
		"Check the name and the API key; ephemeral Environments are deleted after a while."}
}

func environmentsUnavailable(err error) error {
	return &failure{code: "unavailable", cause: err, message: "Environments cannot be looked up at the moment. Ask again in a few seconds."}
}
