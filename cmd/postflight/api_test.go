package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/openapi"
)

// anAPI is a server with some runs. Requests and answers are checked by the OpenAPI document.
type anAPI struct {
	runs      []httpapi.Run
	logs      map[string]string   // by id
	files     []aFile             // of every run
	deploy    string              // the results of a notification, as JSON
	problem   string              // of the archive
	results   *httpapi.RunResults // of every run; nil: the server is of an earlier version
	attempts  map[string]string   // the next attempt of a run
	deployed  []httpapi.EnvironmentStatus
	notFound  string     // failure code of environment_terminated
	mu        sync.Mutex // of the rest
	requests  []string
	traces    map[string][]string // requests by traceparent and tracestate
	logFaults int                 // logs that break off

	logMissing int // how often there is no log yet
}

type aFile struct{ pod, path, content string }

const apiProblem = `{"type":"https://postflight.dev/problems/%s","title":"t","status":%d,"detail":"d","failureCode":"%[1]s","failureMessage":"%[3]s","eventId":"E1"}`

// start sets the variables of the environment that lead to the server.
func (a *anAPI) start(t *testing.T) string {
	t.Helper()
	a.traces = map[string][]string{}
	checked := openapi.Check(t, http.HandlerFunc(a.serve))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/store" {
			a.serveFile(t, w, r, r.URL.Query().Get("file"))
			return
		}
		if r.Header.Get("Authorization") != "Bearer qawolf_0123456789abcdef" {
			t.Errorf("%s with %q", r.URL, r.Header.Get("Authorization"))
		}
		if a.record(r) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "begin\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		checked.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("POSTFLIGHT_URL", server.URL)
	t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
	return server.URL
}

// record notes a request, and reports whether its answer is to break off. Commands wait for several runs at once.
func (a *anAPI) record(r *http.Request) (breakOff bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what := r.Method + " " + r.URL.RequestURI()
	a.requests = append(a.requests, what)
	trace := r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")
	a.traces[trace] = append(a.traces[trace], what)
	if a.logFaults == 0 || !strings.HasSuffix(r.URL.Path, "/logs") {
		return false
	}
	a.logFaults--
	return true
}

func (a *anAPI) serveFile(t *testing.T, w http.ResponseWriter, r *http.Request, path string) {
	if r.Header.Get("Authorization") != "" {
		t.Error("the store got the API key")
	}
	i := slices.IndexFunc(a.files, func(f aFile) bool { return f.pod+"/"+f.path == path })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"x"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.files[i].content))
}

func (a *anAPI) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	switch {
	case r.URL.Path == "/api/webhooks/deploy_success":
		reply(w, http.StatusOK, json.RawMessage(`{"results":[`+a.deploy+`]}`))
	case r.URL.Path == "/api/webhooks/environment_terminated" && a.notFound != "":
		fail(w, http.StatusNotFound, a.notFound, "There is no such Environment.")
	case r.URL.Path == "/api/webhooks/environment_terminated":
		reply(w, http.StatusOK, httpapi.TerminationResult{EnvironmentID: "u", Results: []httpapi.Terminated{
			{EnvironmentID: "u", EnvironmentAlias: "pr-7", Code: "terminated", Runs: []string{"smoke-1", "smoke-2"}}}})
	case r.URL.Path == "/api/v0/environments":
		reply(w, http.StatusOK, httpapi.EnvironmentList{Environments: a.deployed})
	case path[1] == "environments":
		i := slices.IndexFunc(a.deployed, func(e httpapi.EnvironmentStatus) bool { return e.Name == path[2] })
		if i < 0 {
			fail(w, http.StatusNotFound, "environment_not_found", "The team has no such Environment.")
			return
		}
		if strings.HasSuffix(r.URL.Path, "/deployments") {
			reply(w, http.StatusOK, httpapi.DeploymentHistory{Deployments: []httpapi.Deployment{{Repository: "acme/shop", SHA: "4c2f", Since: noon.Add(-2 * time.Hour)}}, More: true})
			return
		}
		reply(w, http.StatusOK, a.deployed[i])
	case path[1] == "tests":
		a.serveTests(w, r)
	case r.URL.Path == "/api/v0/runs":
		reply(w, http.StatusOK, httpapi.Runs{Runs: a.runs, ArchiveProblem: a.problem})
	default:
		i := slices.IndexFunc(a.runs, func(run httpapi.Run) bool { return run.ID == path[2] })
		if i < 0 {
			fail(w, http.StatusNotFound, "run_not_found", "The team has no such run.")
			return
		}
		a.serveRun(w, r, a.runs[i], strings.Join(path[3:], "/"))
	}
}

func (a *anAPI) serveRun(w http.ResponseWriter, r *http.Request, run httpapi.Run, action string) {
	switch action {
	case "":
		if strings.Contains(r.URL.Path, "ci-greenlight") {
			reply(w, http.StatusOK, greenlightOf(run))
			return
		}
		reply(w, http.StatusOK, run)
	case "logs":
		log, ok := a.logs[run.ID]
		if a.logMissing--; !ok || a.logMissing >= 0 {
			fail(w, http.StatusNotFound, "log_not_found", "The log ended with its pod, because no store is configured.")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, log)
	case "results":
		if a.results == nil {
			fail(w, http.StatusNotFound, "run_not_found", "The team has no such run.")
			return
		}
		reply(w, http.StatusOK, a.results)
	case "artifacts":
		a.serveArtifacts(w, r)
	case "cancel":
		if runs.Ended(&run) {
			fail(w, http.StatusConflict, "run_finished", "The run has ended already.")
			return
		}
		reply(w, http.StatusOK, run)
	case "rerun":
		a.serveRerun(w, run)
	}
}

func (a *anAPI) serveRerun(w http.ResponseWriter, run httpapi.Run) {
	next := a.attempts[run.ID]
	i := slices.IndexFunc(a.runs, func(run httpapi.Run) bool { return run.ID == next })
	switch {
	case !runs.Ended(&run):
		fail(w, http.StatusConflict, "run_unfinished", "The run has not ended.")
	case next == "":
		fail(w, http.StatusConflict, "refused", "A newer deployment came.")
	default:
		reply(w, http.StatusCreated, a.runs[i])
	}
}

func (a *anAPI) serveArtifacts(w http.ResponseWriter, r *http.Request) {
	list := httpapi.ArtifactList{Artifacts: []httpapi.Artifact{}}
	for _, f := range a.files {
		if pod := r.URL.Query().Get("pod"); pod == "" || pod == f.pod {
			list.Artifacts = append(list.Artifacts, httpapi.Artifact{Path: f.path, Pod: f.pod, Bytes: int64(len(f.content)),
				URL: "http://" + r.Host + "/store?" + url.Values{"file": {f.pod + "/" + f.path}}.Encode()})
		}
	}
	reply(w, http.StatusOK, list)
}

func greenlightOf(run httpapi.Run) httpapi.Greenlight {
	g := httpapi.Greenlight{RootRunID: run.ID, RelevantRunID: run.ID, RootRunURL: run.URL, RelevantRunURL: run.URL, RelevantRunWithBugsURL: run.URL,
		WorkflowsInRunCount: 1, RunStage: httpapi.Initializing, RunState: run.State, RunMessage: run.Message}
	if runs.Ended(&run) {
		g.RunStage, g.RunState, g.RunMessage, g.Greenlight = httpapi.Completed, "", "", run.State == v1alpha1.ReasonPassed
		g.Bugs = &httpapi.Bugs{BlockingBugURLs: []string{}, NonBlockingBugURLs: []string{}, ReproducedBugs: []httpapi.Bug{}, OtherBlockingBugsInEnvironment: []httpapi.Bug{}}
		if !g.Greenlight {
			g.ReproducedBugs = []httpapi.Bug{{ApplicationURL: run.URL, IsBlocking: true, Name: run.State + ": " + run.Message, Number: 1, Priority: "urgent"}}
		}
	}
	return g
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, apiProblem, code, status, message)
}

// apiRun is a run as the server sends it.
func apiRun(id string, change ...func(*v1alpha1.Suite)) httpapi.Run {
	r := record.RunOf("acme", aRun(id, change...))
	r.URL = "https://postflight.example.com/runs/acme/" + id
	return r
}

// invoke runs a command line, and returns what it printed and its exit code.
func invoke(t *testing.T, args ...string) (out, log string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRoot()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = executeRoot(t.Context(), root, args)
	return stdout.String(), stderr.String(), code
}
