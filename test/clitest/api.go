package clitest

import (
	"encoding/base64"
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
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/openapi"
)

// API is a server with some runs. Requests and answers are checked by the OpenAPI document.
type API struct {
	Runs         []httpapi.Run
	Logs         map[string]string   // by id
	Files        []File              // of every run
	Deploy       string              // the results of a notification, as JSON
	Problem      string              // of the archive
	Results      *httpapi.RunResults // of every run; nil: the server is of an earlier version
	Failure      *httpapi.Failure    // of every run
	Attempts     map[string]string   // the next attempt of a run
	Environments []httpapi.EnvironmentStatus
	Verdict      httpapi.Verdict
	Started      *httpapi.StartedVerdict // nil: the server refuses to start anything
	NotFound     string                  // failure code of environment_terminated
	Tests        http.HandlerFunc        // answers about tests
	LogFaults    int                     // logs that break off
	LogMissing   int                     // how often there is no log yet
	Namespace    string                  // of the team

	mu       sync.Mutex // commands wait for several runs at once
	Requests []string
	Traces   map[string][]string // requests by traceparent and tracestate
}

// File is what a run left.
type File struct{ Pod, Path, Content string }

const apiProblem = `{"type":"https://postflight.dev/problems/%s","title":"t","status":%d,"detail":"d","failureCode":"%[1]s",` +
	`"failureMessage":"%[3]s","eventId":"E1"}`

// Start sets the variables of the environment that lead to the server.
func (a *API) Start(t *testing.T) {
	t.Helper()
	a.Traces = map[string][]string{}
	checked := openapi.Check(t, http.HandlerFunc(a.serve))
	Serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
	t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
}

// Serve starts a server, and sets POSTFLIGHT_URL.
func Serve(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Setenv("POSTFLIGHT_URL", server.URL)
}

// Connect starts a server, and returns a client of it that tries once.
func Connect(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "k", client.WithRetryTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Credentials starts a server, and returns the credentials that it got. With documented, its answers are checked by the OpenAPI document.
func Credentials(t *testing.T, documented bool, answer http.HandlerFunc) *[]string {
	t.Helper()
	var got []string
	checked := http.Handler(answer)
	if documented {
		checked = openapi.Check(t, answer)
	}
	Serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("Postflight-Team"))
		checked.ServeHTTP(w, r)
	})
	return &got
}

// IDToken is like one of a CI job, but its signature is not checked.
func IDToken(expires time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"iss":"https://gitlab.example.com","sub":"project_path:acme/shop","aud":"postflight","exp":%d}`, expires.Unix())
	return part([]byte(`{"alg":"RS256"}`)) + "." + part([]byte(claims)) + "." + part([]byte("signature"))
}

// record notes a request, and reports whether its answer is to break off.
func (a *API) record(r *http.Request) (breakOff bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what := r.Method + " " + r.URL.RequestURI()
	a.Requests = append(a.Requests, what)
	trace := r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")
	a.Traces[trace] = append(a.Traces[trace], what)
	if a.LogFaults == 0 || !strings.HasSuffix(r.URL.Path, "/logs") {
		return false
	}
	a.LogFaults--
	return true
}

func (a *API) serveFile(t *testing.T, w http.ResponseWriter, r *http.Request, path string) {
	if r.Header.Get("Authorization") != "" {
		t.Error("the store got the API key")
	}
	i := slices.IndexFunc(a.Files, func(f File) bool { return f.Pod+"/"+f.Path == path })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"x"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.Files[i].Content))
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	switch {
	case r.URL.Path == "/api/webhooks/deploy_success":
		Reply(w, http.StatusOK, json.RawMessage(`{"results":[`+a.Deploy+`]}`))
	case r.URL.Path == "/api/webhooks/environment_terminated" && a.NotFound != "":
		Fail(w, http.StatusNotFound, a.NotFound, "There is no such Environment.")
	case r.URL.Path == "/api/webhooks/environment_terminated":
		Reply(w, http.StatusOK, httpapi.TerminationResult{EnvironmentID: "u", Results: []httpapi.Terminated{
			{EnvironmentID: "u", EnvironmentAlias: "pr-7", Code: "terminated", Runs: []string{"smoke-1", "smoke-2"}}}})
	case r.URL.Path == "/api/v0/whoami":
		Reply(w, http.StatusOK, httpapi.WhoAmI{Team: "acme", Namespace: a.Namespace, Actions: []string{"read"},
			Sender: httpapi.Sender{Kind: "key", Name: "acme/ci"}})
	case r.URL.Path == "/api/v0/verdict" && r.Method == http.MethodGet:
		Reply(w, http.StatusOK, a.Verdict)
	case r.URL.Path == "/api/v0/verdict" && a.Started == nil:
		Fail(w, http.StatusConflict, "refused", "Nothing is started, because b000000 was deployed to staging after 5ca1ab1e.")
	case r.URL.Path == "/api/v0/verdict":
		Reply(w, http.StatusOK, a.Started)
	case r.URL.Path == "/api/v0/environments":
		Reply(w, http.StatusOK, httpapi.EnvironmentList{Environments: append([]httpapi.EnvironmentStatus{}, a.Environments...)})
	case path[1] == "environments":
		i := slices.IndexFunc(a.Environments, func(e httpapi.EnvironmentStatus) bool { return e.Name == path[2] })
		if i < 0 {
			Fail(w, http.StatusNotFound, "environment_not_found", "The team has no such Environment.")
			return
		}
		if strings.HasSuffix(r.URL.Path, "/deployments") {
			Reply(w, http.StatusOK, httpapi.DeploymentHistory{Deployments: []httpapi.Deployment{{Repository: "acme/shop", SHA: "4c2f",
				Since: Noon.Add(-2 * time.Hour)}}, More: true})
			return
		}
		Reply(w, http.StatusOK, a.Environments[i])
	case path[1] == "tests":
		a.Tests(w, r)
	case r.URL.Path == "/api/v0/runs":
		Reply(w, http.StatusOK, httpapi.Runs{Runs: a.Runs, ArchiveProblem: a.Problem})
	default:
		i := slices.IndexFunc(a.Runs, func(run httpapi.Run) bool { return run.ID == path[2] })
		if i < 0 {
			Fail(w, http.StatusNotFound, "run_not_found", "The team has no such run.")
			return
		}
		a.serveRun(w, r, a.Runs[i], strings.Join(path[3:], "/"))
	}
}

func (a *API) serveRun(w http.ResponseWriter, r *http.Request, run httpapi.Run, action string) {
	switch action {
	case "":
		if strings.Contains(r.URL.Path, "ci-greenlight") {
			Reply(w, http.StatusOK, GreenlightOf(run))
			return
		}
		Reply(w, http.StatusOK, run)
	case "logs":
		log, ok := a.Logs[run.ID]
		if a.LogMissing--; !ok || a.LogMissing >= 0 {
			Fail(w, http.StatusNotFound, "log_not_found", "The log ended with its pod, because no store is configured.")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, log)
	case "results":
		if a.Results == nil {
			Fail(w, http.StatusNotFound, "run_not_found", "The team has no such run.")
			return
		}
		Reply(w, http.StatusOK, a.Results)
	case "failure":
		Reply(w, http.StatusOK, a.Failure)
	case "artifacts":
		a.serveArtifacts(w, r)
	case "cancel":
		if ended(run) {
			Fail(w, http.StatusConflict, "run_finished", "The run has ended already.")
			return
		}
		Reply(w, http.StatusOK, run)
	case "rerun":
		a.serveRerun(w, run)
	}
}

func (a *API) serveRerun(w http.ResponseWriter, run httpapi.Run) {
	next := a.Attempts[run.ID]
	i := slices.IndexFunc(a.Runs, func(run httpapi.Run) bool { return run.ID == next })
	switch {
	case !ended(run):
		Fail(w, http.StatusConflict, "run_unfinished", "The run has not ended.")
	case next == "":
		Fail(w, http.StatusConflict, "refused", "A newer deployment came.")
	default:
		Reply(w, http.StatusCreated, a.Runs[i])
	}
}

func (a *API) serveArtifacts(w http.ResponseWriter, r *http.Request) {
	list := httpapi.ArtifactList{Artifacts: []httpapi.Artifact{}}
	for _, f := range a.Files {
		if pod := r.URL.Query().Get("pod"); pod == "" || pod == f.Pod {
			list.Artifacts = append(list.Artifacts, httpapi.Artifact{Path: f.Path, Pod: f.Pod, Bytes: int64(len(f.Content)),
				URL: "http://" + r.Host + "/store?" + url.Values{"file": {f.Pod + "/" + f.Path}}.Encode()})
		}
	}
	Reply(w, http.StatusOK, list)
}

// GreenlightOf is what commands that wait are answered about a run.
func GreenlightOf(run httpapi.Run) httpapi.Greenlight {
	g := httpapi.Greenlight{RootRunID: run.ID, RelevantRunID: run.ID, RootRunURL: run.URL, RelevantRunURL: run.URL,
		RelevantRunWithBugsURL: run.URL,
		WorkflowsInRunCount:    1, RunStage: httpapi.Initializing, RunState: run.State, RunMessage: run.Message}
	if ended(run) {
		g.RunStage, g.RunState, g.RunMessage, g.Greenlight = httpapi.Completed, "", "", run.State == v1alpha1.ReasonPassed
		g.Bugs = &httpapi.Bugs{BlockingBugURLs: []string{}, NonBlockingBugURLs: []string{}, ReproducedBugs: []httpapi.Bug{},
			OtherBlockingBugsInEnvironment: []httpapi.Bug{}}
		if !g.Greenlight {
			g.ReproducedBugs = []httpapi.Bug{{ApplicationURL: run.URL, IsBlocking: true, Name: run.State + ": " + run.Message, Number: 1,
				Priority: "urgent"}}
		}
	}
	return g
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Fail answers with a problem.
func Fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, apiProblem, code, status, message)
}

// Run is a run as the server sends it.
func Run(id string, change ...func(*v1alpha1.Suite)) httpapi.Run {
	r := record.RunOf("acme", Suite(id, change...))
	r.URL = "https://postflight.example.com/runs/acme/" + id
	return r
}

func ended(run httpapi.Run) bool { return slices.Contains(v1alpha1.Ends(), run.State) }
