package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/handon"
)

// Route is a method, a pattern of http.ServeMux, and their handler.
type Route struct {
	Method  string
	Path    string
	Handler exchange.Handler
	Action  grant.Action // that the sender must be allowed
	Subject handon.Subject
}

// trpcPrefix begins the paths of routes that answer failures in the form of tRPC.
const trpcPrefix = "/api/trpc/"

// Actions of routes that need no particular right.
const (
	Anything  grant.Action = "anything"  // the sender must be known
	Anonymous grant.Action = "anonymous" // the handler decides
)

// Routes are all routes of the API.
func (a *API) Routes() []Route {
	t := a.Topics
	return []Route{
		{http.MethodPost, "/api/webhooks/deploy_success", t.Notifications.DeploySuccess, grant.Notify, handon.Here},
		{http.MethodPost, "/api/webhooks/environment_terminated", t.Notifications.EnvironmentTerminated, grant.Notify, handon.Here},
		{http.MethodPost, trpcPrefix + "public.deployment.reportStatus", t.Notifications.ReportStatus, grant.Notify, handon.Here},
		{http.MethodGet, "/api/v0/runs", t.Runs.List, grant.Read, handon.Environment},
		{http.MethodGet, "/api/v0/runs/{id}", t.Runs.Get, grant.Outcome, handon.Run},
		{http.MethodGet, "/api/v0/runs/{id}/logs", t.Runs.ReadLogs, grant.Read, handon.Run},
		{http.MethodGet, "/api/v0/runs/{id}/results", t.Runs.GetResults, grant.Outcome, handon.Run},
		{http.MethodGet, "/api/v0/runs/{id}/failure", t.Runs.GetFailure, grant.Read, handon.Run},
		{http.MethodGet, "/api/v0/runs/{id}/attestation", t.Runs.GetAttestation, grant.Outcome, handon.Run},
		{http.MethodGet, "/api/v0/runs/{id}/artifacts", t.Runs.ListArtifacts, grant.Read, handon.Run},
		{http.MethodPost, "/api/v0/runs/{id}/cancel", t.Runs.Cancel, grant.Act, handon.Run},
		{http.MethodPost, "/api/v0/runs/{id}/rerun", t.Runs.Rerun, grant.Act, handon.Run},
		{http.MethodGet, "/api/v0/environments", t.Overview.ListEnvironments, grant.Read, handon.Here},
		{http.MethodGet, "/api/v0/environments/{name}", t.Overview.GetEnvironment, grant.Read, handon.Environment},
		{http.MethodGet, "/api/v0/environments/{name}/deployments", t.Overview.ListDeployments, grant.Read, handon.Environment},
		{http.MethodGet, "/api/v0/overview", t.Overview.Get, grant.Read, handon.Here},
		{http.MethodGet, "/api/v0/tests", t.Overview.ListTests, grant.Read, handon.Environment},
		{http.MethodGet, "/api/v0/tests/history", t.Overview.GetTest, grant.Read, handon.Environment},
		{http.MethodGet, "/api/v0/insights", t.Overview.GetInsights, grant.Read, handon.Environment},
		{http.MethodPost, "/api/v0/replay", t.Notifications.Replay, grant.Read, handon.Triggers},
		{http.MethodGet, "/api/v0/ci-greenlight/{id}", t.Runs.Greenlight, grant.Outcome, handon.Run},
		{http.MethodGet, "/api/v0/verdict", t.Verdicts.Get, grant.Outcome, handon.Environment},
		{http.MethodPost, "/api/v0/verdict", t.Verdicts.Start, grant.Act, handon.Environment},
		{http.MethodGet, "/api/v0/run-inputs-executables-signed-urls", t.Files.SignRunInput, grant.Upload, handon.Upload},
		{http.MethodGet, "/api/v0/team-storage-signed-url", t.Files.SignTeamStorage, grant.Upload, handon.Upload},
		{http.MethodGet, "/api/v0/whoami", a.whoAmI, Anything, handon.Here},
		{http.MethodPost, "/api/events/github", t.Events.AppEvent, Anonymous, handon.Here},
		{http.MethodPost, "/api/events/{namespace}/{name}", t.Events.SourceEvent, Anonymous, handon.Here},
		{http.MethodPost, "/api/v0/collect", t.Files.Collect, Anonymous, handon.Here},
		{http.MethodGet, "/.well-known/postflight/attestation-keys.pem", t.Runs.GetAttestationKeys, Anonymous, handon.Here},
		{http.MethodGet, "/openapi.yaml", a.openAPI, Anonymous, handon.Here},
	}
}

// Handle serves the routes. It has one handler per path for all methods, because ServeMux would answer a wrong method in plain text.
func (a *API) Handle(all []Route) {
	byPath := map[string][]Route{}
	for _, r := range all {
		byPath[r.Path] = append(byPath[r.Path], r)
	}
	mux := http.NewServeMux()
	for path, routes := range byPath {
		handler := a.Server.Handler(func(w http.ResponseWriter, r *exchange.Request) error { return a.route(w, r, routes) })
		mux.Handle(path, handler)
		if strings.HasSuffix(path, "}") { // an id or name with an encoded slash is wrong, and no other path
			mux.Handle(path+"/{rest...}", handler)
		}
	}
	mux.Handle("/", a.Server.Handler(func(_ http.ResponseWriter, r *exchange.Request) error {
		r.Route = "other"
		return &exchange.Failure{Code: "not_found",
			Message: "There is nothing at this path. Check the base URL; /openapi.yaml lists the paths that exist."}
	}))
	a.mux = mux
}

func (a *API) route(w http.ResponseWriter, r *exchange.Request, routes []Route) error {
	r.TRPC = strings.HasPrefix(routes[0].Path, trpcPrefix)
	i := slices.IndexFunc(routes, func(route Route) bool { return route.Method == r.Method })
	if i < 0 {
		return methodNotAllowed(routes)
	}
	route := routes[i]
	if route.Action == Anonymous {
		return route.Handler(w, r)
	}
	if err := a.authenticate(r, route.Action); err != nil {
		return err
	}
	return a.Server.Answer(w, r, func(w http.ResponseWriter, r *exchange.Request) error {
		if err := a.authorize(r, route.Action); err != nil {
			return err
		}
		if handled, err := a.Topics.HandOn.Serve(w, r, route.Subject, route.Action); handled || err != nil {
			return err
		}
		if err := a.authorizeSubject(r, route.Subject); err != nil {
			return err
		}
		return route.Handler(w, r)
	})
}

func methodNotAllowed(routes []Route) error {
	var allow []string
	for _, route := range routes {
		allow = append(allow, route.Method)
	}
	slices.Sort(allow)
	return &exchange.Failure{Code: "method_not_allowed", Allow: allow, Message: "Use " + allow[0] + " for this path."}
}
