package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/openapi"
)

// serveDocumented checks requests and answers by the OpenAPI document.
func serveDocumented(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	return serve(t, openapi.Check(t, handler).ServeHTTP)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func aRun(id string) httpapi.Run {
	return httpapi.Run{ID: id, Team: "acme", Namespace: "acme", Trigger: "smoke", Environment: "staging", State: "Failed", Attempt: 1,
		CreatedAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), URL: "/runs/acme/" + id}
}

// pageOf is the page of items that the cursor names, and the cursor of the next.
func pageOf[T any](items []T, r *http.Request, size int) ([]T, string) {
	start, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "at-"))
	end := min(start+size, len(items))
	if end == len(items) {
		return items[start:], ""
	}
	return items[start:end], fmt.Sprintf("at-%d", end)
}

func TestRuns(t *testing.T) {
	var queries []string
	problem := ""
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		page, next := pageOf([]httpapi.Run{aRun("a"), aRun("b"), aRun("c")}, r, 2)
		answer(w, http.StatusOK, httpapi.Runs{Runs: page, Next: next, ArchiveProblem: problem})
	})
	c := connect(t, url)
	list := func(most int) (ids []string, last error) {
		for run, err := range c.Runs(t.Context(), client.RunFilter{Branch: "feature/a b&c", State: "Failed", PageSize: 2}) {
			if last = err; err != nil {
				continue
			}
			if ids = append(ids, run.ID); run.URL != url+"/runs/acme/"+run.ID {
				t.Errorf("the link %s", run.URL)
			}
			if len(ids) == most {
				break
			}
		}
		return ids, last
	}
	if ids, err := list(99); err != nil || strings.Join(ids, "") != "abc" {
		t.Errorf("%v, %v", ids, err)
	}
	if diff := cmp.Diff([]string{"branch=feature%2Fa+b%26c&limit=2&state=Failed", "branch=feature%2Fa+b%26c&cursor=at-2&limit=2&state=Failed"},
		queries); diff != "" {
		t.Errorf("queries:\n%s", diff)
	}
	queries = nil
	if ids, err := list(2); err != nil || strings.Join(ids, "") != "ab" || len(queries) != 1 {
		t.Errorf("a list that is not read to its end: %v, %v, %d requests", ids, err, len(queries))
	}
	problem = "The store does not answer."
	ids, err := list(99)
	if missing := (&client.IncompleteError{}); !errors.As(err, &missing) || err.Error() != problem || strings.Join(ids, "") != "abc" {
		t.Errorf("without the archive: %v, %v", ids, err)
	}
}

func TestListsThatRepeatEnd(t *testing.T) {
	c := connect(t, serveDocumented(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, httpapi.Runs{Runs: []httpapi.Run{aRun("a")}, Next: "again"})
	}))
	n, last := 0, error(nil)
	for _, err := range c.Runs(t.Context(), client.RunFilter{}) {
		n, last = n+1, err
	}
	if n != 3 || last == nil || !strings.Contains(last.Error(), "again and again") {
		t.Errorf("%d elements, %v", n, last)
	}
}

func TestRunActions(t *testing.T) {
	t.Parallel()
	var requests []string
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method+" "+r.URL.EscapedPath())
		switch {
		case len(requests) == 1:
			unavailable(w)
		case strings.HasSuffix(r.URL.Path, "/rerun"):
			answer(w, http.StatusCreated, aRun("b"))
		case strings.HasSuffix(r.URL.Path, "/artifacts"):
			page, next := pageOf([]httpapi.Artifact{{Path: "1", Pod: "p", URL: "http://x/1"}, {Path: "2", Pod: "p", URL: "http://x/2"}}, r, 1)
			answer(w, http.StatusOK, httpapi.ArtifactList{Artifacts: page, Next: next})
		default:
			answer(w, http.StatusOK, aRun("a"))
		}
	})
	c := connect(t, url)
	run, err := c.Run(t.Context(), "a/..%2f")
	if err != nil || run.ID != "a" || run.URL != url+"/runs/acme/a" {
		t.Errorf("%+v, %v", run, err)
	}
	if _, err := c.Cancel(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if run, err := c.Rerun(t.Context(), "a"); err != nil || run.ID != "b" {
		t.Errorf("%+v, %v", run, err)
	}
	var paths []string
	for a, err := range c.Artifacts(t.Context(), "a", "p") {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, a.Path)
	}
	const path = "/api/v0/runs/a"
	want := []string{"GET " + path + "%2F..%252f", "GET " + path + "%2F..%252f", "POST " + path + "/cancel", "POST " + path + "/rerun",
		"GET " + path + "/artifacts", "GET " + path + "/artifacts"}
	if diff := cmp.Diff(want, requests); diff != "" || strings.Join(paths, "") != "12" {
		t.Errorf("files %q, requests:\n%s", paths, diff)
	}
}

func TestEnvironmentTerminated(t *testing.T) {
	var sent map[string]any
	c := connect(t, serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		answer(w, http.StatusOK, httpapi.TerminationResult{EnvironmentID: "uid", Results: []httpapi.Terminated{
			{EnvironmentID: "uid", EnvironmentAlias: "pr-7", Code: "terminated", Runs: []string{"smoke-1"}}}})
	}))
	result, err := c.EnvironmentTerminated(t.Context(), client.Termination{DeploymentURL: "https://pr-7.example.com"})
	if err != nil || len(result.Results) != 1 || result.Results[0].Runs[0] != "smoke-1" {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff(map[string]any{"deploymentUrl": "https://pr-7.example.com"}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	query, tries := "", 0
	c := connect(t, serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		if tries++; tries == 1 {
			unavailable(w)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, "hello\x1b[31m\n")
	}))
	log, err := c.Logs(t.Context(), "a", client.LogOptions{Pod: "p", Container: "test", Previous: true, Follow: true, Tail: new(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if text, err := io.ReadAll(log); err != nil || string(text) != "hello\x1b[31m\n" {
		t.Errorf("%q, %v", text, err)
	}
	if query != "container=test&follow=true&pod=p&previous=true&tail=0" {
		t.Error(query)
	}
}

func TestLogsBreakOff(t *testing.T) {
	cases := map[string]struct {
		handler http.HandlerFunc
		read    string
		is      error // of reading
		says    string
	}{
		"a followed log is ended by the server": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "begin\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, read: "begin\n", is: client.ErrLogCut},
		"no such log": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, strings.Replace(problem, "unavailable", "log_not_found", 2))
		}, says: "Wait. [404 log_not_found, eventId E1]"},
		"a login page": {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, says: "not Postflight"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log, err := connect(t, serve(t, tc.handler), client.WithRetryTimeout(0)).Logs(t.Context(), "a", client.LogOptions{Follow: true})
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v, want %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if text, err := io.ReadAll(log); string(text) != tc.read || !errors.Is(err, tc.is) {
				t.Errorf("%q, %v, want %q, %v", text, err, tc.read, tc.is)
			}
		})
	}
}

// TestLogsOutlastRequests: a log may take longer than the HTTP client lets a request take, as long as something of it arrives; one that is
// followed, as long as it likes.
func TestLogsOutlastRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		pause  time.Duration
		follow bool
		cut    bool
	}{
		"slow":     {pause: time.Minute},
		"stalled":  {pause: time.Hour, cut: true},
		"followed": {pause: time.Hour, follow: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, map[string]http.Handler{"server": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/plain")
					for _, part := range []string{"", "la", "te"} {
						if _, err := io.WriteString(w, part); err != nil {
							return
						}
						_ = http.NewResponseController(w).Flush()
						select {
						case <-time.After(tc.pause):
						case <-r.Context().Done():
						}
					}
				})})
				c.Timeout = time.Second
				log, err := connect(t, "http://server", client.WithHTTPClient(c)).Logs(t.Context(), "a", client.LogOptions{Follow: tc.follow})
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				text, err := io.ReadAll(log)
				if cut := errors.Is(err, client.ErrLogCut); cut != tc.cut || !tc.cut && (err != nil || string(text) != "late") {
					t.Errorf("%q, %v", text, err)
				}
			})
		})
	}
}

// TestAttestation: the bundle comes back as it was sent.
func TestAttestation(t *testing.T) {
	const bundle = `{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}`
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v0/runs/b/attestation" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"https://postflight.dev/problems/attestation_not_found","title":"t","status":404,"detail":"d",`+
				`"failureCode":"attestation_not_found","failureMessage":"The run has not ended yet.","eventId":"E1"}`)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.dev.sigstore.bundle.v0.3+json")
		_, _ = io.WriteString(w, bundle)
	})
	c := connect(t, url)
	if got, err := c.Attestation(t.Context(), "a"); err != nil || string(got) != bundle {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := c.Attestation(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "The run has not ended yet.") || got != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestFailure: the document comes in both forms, and an error is no Markdown.
func TestFailure(t *testing.T) {
	const document = `{"run":"smoke-1","state":"Failed","green":false,"summary":"1 of 2 tests failed.","next":["Fix it."],` +
		`"tested":{"team":"acme","namespace":"acme","trigger":"smoke","environment":"staging"},"url":"/teams/acme/runs/smoke-1"}`
	url := serveDocumented(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "smoke-2"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"https://postflight.dev/problems/run_not_found","title":"t","status":404,"detail":"d",`+
				`"failureCode":"run_not_found","failureMessage":"There is no run smoke-2.","eventId":"E1"}`)
		case r.Header.Get("Accept") == "text/markdown":
			w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
			_, _ = io.WriteString(w, "# Failed")
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, document)
		}
	})
	c := connect(t, url)
	f, err := c.Failure(t.Context(), "smoke-1")
	if err != nil || f.Summary != "1 of 2 tests failed." || f.URL != url+"/teams/acme/runs/smoke-1" {
		t.Errorf("%+v, %v", f, err)
	}
	if text, err := c.FailureMarkdown(t.Context(), "smoke-1"); err != nil || text != "# Failed" {
		t.Errorf("%q, %v", text, err)
	}
	text, err := c.FailureMarkdown(t.Context(), "smoke-2")
	if err == nil || !strings.Contains(err.Error(), "There is no run smoke-2.") || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
