package api

import (
	"net/http"
	"slices"
	"strings"
)

// Route is a method, a pattern of http.ServeMux, and their handler.
type Route struct {
	Method  string
	Path    string
	Handler func(http.ResponseWriter, *Request) error
	Auth    bool // the handler is called only for a request with an API key
}

func (a *API) routes() []Route {
	return []Route{
		{http.MethodPost, "/api/webhooks/deploy_success", a.deploySuccess, true},
		{http.MethodPost, "/api/webhooks/environment_terminated", a.environmentTerminated, true},
		{http.MethodGet, "/api/v0/runs", a.listRuns, true},
		{http.MethodGet, "/api/v0/runs/{id}", a.getRun, true},
		{http.MethodGet, "/api/v0/runs/{id}/logs", a.readLogs, true},
		{http.MethodGet, "/api/v0/runs/{id}/results", a.getResults, true},
		{http.MethodGet, "/api/v0/runs/{id}/artifacts", a.listArtifacts, true},
		{http.MethodPost, "/api/v0/runs/{id}/cancel", a.cancelRun, true},
		{http.MethodPost, "/api/v0/runs/{id}/rerun", a.rerunRun, true},
		{http.MethodGet, "/api/v0/environments", a.listEnvironments, true},
		{http.MethodGet, "/api/v0/environments/{name}", a.getEnvironment, true},
		{http.MethodGet, "/api/v0/environments/{name}/deployments", a.listDeployments, true},
		{http.MethodGet, "/api/v0/tests", a.listTests, true},
		{http.MethodGet, "/api/v0/tests/history", a.getTest, true},
		{http.MethodGet, "/api/v0/insights", a.getInsights, true},
		{http.MethodGet, "/api/v0/ci-greenlight/{id}", a.ciGreenlight, true},
		{http.MethodGet, "/api/v0/run-inputs-executables-signed-urls", a.signUpload, true},
		{http.MethodPost, "/api/v0/collect", a.byPod(a.collect), false},
		{http.MethodGet, "/openapi.yaml", a.openAPI, false},
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
	if !routes[i].Auth {
		return routes[i].Handler(w, r)
	}
	if err := a.authenticate(r); err != nil {
		return err
	}
	return a.answer(w, r, routes[i].Handler)
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
