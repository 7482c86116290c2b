package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// Route is a method, a pattern of http.ServeMux, and their handler.
type Route struct {
	Method  string
	Path    string
	Handler func(http.ResponseWriter, *Request) error
	Action  grant.Action // that the sender must be allowed
}

const (
	anything  grant.Action = "anything"  // the sender must be known
	anonymous grant.Action = "anonymous" // the handler decides
)

func (a *API) routes() []Route {
	return []Route{
		{http.MethodPost, "/api/webhooks/deploy_success", a.deploySuccess, grant.Notify},
		{http.MethodPost, "/api/webhooks/environment_terminated", a.environmentTerminated, grant.Notify},
		{http.MethodGet, "/api/v0/runs", a.listRuns, grant.Read},
		{http.MethodGet, "/api/v0/runs/{id}", a.getRun, grant.Outcome},
		{http.MethodGet, "/api/v0/runs/{id}/logs", a.readLogs, grant.Read},
		{http.MethodGet, "/api/v0/runs/{id}/results", a.getResults, grant.Outcome},
		{http.MethodGet, "/api/v0/runs/{id}/artifacts", a.listArtifacts, grant.Read},
		{http.MethodPost, "/api/v0/runs/{id}/cancel", a.cancelRun, grant.Act},
		{http.MethodPost, "/api/v0/runs/{id}/rerun", a.rerunRun, grant.Act},
		{http.MethodGet, "/api/v0/environments", a.listEnvironments, grant.Read},
		{http.MethodGet, "/api/v0/environments/{name}", a.getEnvironment, grant.Read},
		{http.MethodGet, "/api/v0/environments/{name}/deployments", a.listDeployments, grant.Read},
		{http.MethodGet, "/api/v0/tests", a.listTests, grant.Read},
		{http.MethodGet, "/api/v0/tests/history", a.getTest, grant.Read},
		{http.MethodGet, "/api/v0/insights", a.getInsights, grant.Read},
		{http.MethodPost, "/api/v0/replay", a.replay, grant.Read},
		{http.MethodGet, "/api/v0/ci-greenlight/{id}", a.ciGreenlight, grant.Outcome},
		{http.MethodGet, "/api/v0/run-inputs-executables-signed-urls", a.signRunInput, grant.Upload},
		{http.MethodGet, "/api/v0/team-storage-signed-url", a.signTeamStorage, grant.Upload},
		{http.MethodGet, "/api/v0/whoami", a.whoAmI, anything},
		{http.MethodPost, "/api/events/github", a.appEvent, anonymous},
		{http.MethodPost, "/api/events/{namespace}/{name}", a.sourceEvent, anonymous},
		{http.MethodPost, "/api/v0/collect", a.byPod(a.collect), anonymous},
		{http.MethodGet, "/openapi.yaml", a.openAPI, anonymous},
	}
}

// newMux has one handler per path for all methods, because ServeMux would answer a wrong method in plain text.
func (a *API) newMux(all []Route) *http.ServeMux {
	byPath := map[string][]Route{}
	for _, r := range all {
		byPath[r.Path] = append(byPath[r.Path], r)
	}
	mux := http.NewServeMux()
	for path, routes := range byPath {
		handler := a.handler(func(w http.ResponseWriter, r *Request) error { return a.route(w, r, routes) })
		mux.Handle(path, handler)
		if strings.HasSuffix(path, "}") { // an id or name with an encoded slash is a wrong one, not another path
			mux.Handle(path+"/{rest...}", handler)
		}
	}
	mux.Handle("/", a.handler(func(_ http.ResponseWriter, r *Request) error {
		r.route = "other"
		return &failure{code: "not_found",
			message: "There is nothing at this path. Check the base URL; /openapi.yaml lists the paths that exist."}
	}))
	return mux
}

func (a *API) route(w http.ResponseWriter, r *Request, routes []Route) error {
	i := slices.IndexFunc(routes, func(route Route) bool { return route.Method == r.Method })
	if i < 0 {
		return methodNotAllowed(routes)
	}
	route := routes[i]
	if route.Action == anonymous {
		return route.Handler(w, r)
	}
	if err := a.authenticate(r, route.Action); err != nil {
		return err
	}
	return a.answer(w, r, func(w http.ResponseWriter, r *Request) error {
		if err := a.authorize(r, route.Action); err != nil {
			return err
		}
		return route.Handler(w, r)
	})
}

// answer limits only authenticated requests: otherwise anyone could take all slots, with answers that are never read.
func (a *API) answer(w http.ResponseWriter, r *Request, handle func(http.ResponseWriter, *Request) error) error {
	a.Authenticated(r.Context(), r.team())
	w.Header().Del("Connection")
	if !r.acquire(a.inFlight) {
		return overloaded("The server is answering as many requests as it can, or as many of this team as leave room for others. " +
			"Send the request again in a few seconds.")
	}
	defer r.release()
	return handle(w, r)
}

func methodNotAllowed(routes []Route) error {
	var allow []string
	for _, route := range routes {
		allow = append(allow, route.Method)
	}
	slices.Sort(allow)
	return &failure{code: "method_not_allowed", allow: allow, message: "Use " + allow[0] + " for this path."}
}
