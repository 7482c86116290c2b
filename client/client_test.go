package client_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/poll"
)

const problem = `{"type":"https://postflight.dev/problems/unavailable","title":"t","status":503,"detail":"d",` +
	`"failureCode":"unavailable","failureMessage":"Wait.","eventId":"E1"}`

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func connect(t *testing.T, url string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, " pf_key\n", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, problem)
}

// A notification without a SHA has the same Idempotency-Key in all attempts, so that the second makes
// no second run.
func TestNotifyAgain(t *testing.T) {
	t.Parallel()
	var keys, bodies []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(body))
		if r.URL.Path != "/api/webhooks/deploy_success" || r.Header.Get("Authorization") != "Bearer pf_key" {
			t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		if len(keys) == 1 {
			unavailable(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results":[{"trigger_id":"smoke","created_suite_id":"smoke-1"}]}`)
	})
	retries := 0
	c := connect(t, url+"/", client.WithRetryTimeout(poll.Limit), client.OnRetry(func(error, time.Duration) { retries++ }))
	result, err := c.Notify(t.Context(), client.Notification{Branch: "main"})
	if err != nil || result.Results[0].CreatedSuiteID != "smoke-1" {
		t.Fatalf("%+v, %v", result, err)
	}
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] || bodies[0] != bodies[1] || retries != 1 {
		t.Errorf("keys %q, bodies %q, retried %d times", keys, bodies, retries)
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		handler http.HandlerFunc
		status  int
		text    string
	}{
		"problem": {func(w http.ResponseWriter, _ *http.Request) { unavailable(w) }, 503, "Wait. [503 unavailable, eventId E1]"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, 302,
			"Something that is not Postflight answered 302 Found"},
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome</html>") }, 200, "not Postflight"},
		"cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "cannot be reached"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := connect(t, serve(t, tc.handler), client.WithRetryTimeout(0))
			_, err := c.Greenlight(t.Context(), "smoke-1", 0)
			var failed *client.Error
			if !errors.As(err, &failed) || failed.Status != tc.status || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want status %d and %q", err, tc.status, tc.text)
			}
			if err != nil && strings.Contains(err.Error(), "pf_key") {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

// An error that a person has to correct is reported at once, and not after two minutes.
func TestMistakesAreNotRepeated(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	trusted, plain := httptest.NewTLSServer(page), serve(t, page)
	trusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(trusted.Close)
	cases := map[string]struct{ url, text string }{
		"untrusted certificate": {trusted.URL, "is not trusted"},
		"https to http":         {strings.Replace(plain, "http://", "https://", 1), "does not speak TLS"},
		"http to https":         {strings.Replace(trusted.URL, "https://", "http://", 1), "not Postflight answered 400"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := connect(t, tc.url, client.WithRetryTimeout(time.Minute),
				client.OnRetry(func(err error, _ time.Duration) { t.Fatalf("tried again after %v", err) }))
			_, err := c.Notify(t.Context(), client.Notification{})
			var failed *client.Error
			if !errors.As(err, &failed) || failed.Temporary() || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %q and no other attempt", err, tc.text)
			}
		})
	}
}

func TestWaitIsAskedFor(t *testing.T) {
	var queries, paths []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries, paths = append(queries, r.URL.RawQuery), append(paths, r.URL.EscapedPath())
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"runStage":"completed","greenlight":true}`)
	})
	c := connect(t, url)
	for _, wait := range []time.Duration{0, 5 * time.Second, time.Hour} {
		if _, err := c.Greenlight(t.Context(), "a/b?c", wait); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(queries, " "); got != " wait=5 wait=55" {
		t.Errorf("queries %q", got)
	}
	if paths[0] != "/api/v0/ci-greenlight/a%2Fb%3Fc" {
		t.Errorf("path %s", paths[0])
	}
}

func TestNewRefusesWhatIsNoServer(t *testing.T) {
	for _, url := range []string{"", "postflight.example.com", "ftp://x", "http://", "https://user:secret@x"} {
		if _, err := client.New(url, "k"); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}
