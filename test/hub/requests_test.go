package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

const notifyPath = "/api/webhooks/deploy_success"

// httpClient has the time-out of real clients, and keeps enough connections for a crowd.
var httpClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// sender sends requests to a manager.
type sender struct {
	t   testing.TB
	url string
	key string // or a token
}

// answer is what a client gets.
type answer struct {
	status int // 0: nothing
	body   string
	err    error
}

func (a answer) String() string { return fmt.Sprintf("%d %s %v", a.status, a.body, a.err) }

// try sends one request, and never repeats it.
func (s sender) try(method, path, body string, headers ...string) answer {
	return s.tryIn(s.t.Context(), method, path, body, headers...)
}

func (s sender) tryIn(ctx context.Context, method, path, body string, headers ...string) answer {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := httpClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{err: err}
	}
	return answer{status: resp.StatusCode, body: string(content)}
}

// send fails the test unless the answer has the status.
func (s sender) send(want int, method, path, body string, headers ...string) answer {
	s.t.Helper()
	a := s.try(method, path, body, headers...)
	if a.status != want {
		s.t.Fatalf("%s %s: want %d, got %v", method, path, want, a)
	}
	return a
}

func (s sender) get(path string) answer {
	s.t.Helper()
	return s.send(http.StatusOK, http.MethodGet, path, "")
}

// notify sends a notification that is accepted.
func (s sender) notify(body string, headers ...string) httpapi.NotificationResult {
	s.t.Helper()
	return decode[httpapi.NotificationResult](s.t, s.send(http.StatusOK, http.MethodPost, notifyPath, body, headers...))
}

// run notifies of a commit that starts one run, and returns that.
func (s sender) run(sha string) string {
	s.t.Helper()
	answer := s.notify(fmt.Sprintf(`{"branch":"main","sha":%q}`, sha))
	if len(answer.Results) != 1 || answer.Results[0].CreatedSuiteID == "" {
		s.t.Fatalf("want one run, got %+v", answer)
	}
	return answer.Results[0].CreatedSuiteID
}

func (a answer) explanations() []httpapi.Explanation {
	var n httpapi.NotificationResult
	_ = json.Unmarshal([]byte(a.body), &n) // whoever waits for them sees the answer
	return n.Explanations
}

func decode[T any](t testing.TB, a answer) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%v: %v", a, err)
	}
	return value
}

// equal compares the answers of both sides, byte for byte.
func equal(t testing.TB, what string, byHub, direct answer) {
	t.Helper()
	if byHub.status != direct.status || byHub.body != direct.body {
		t.Errorf("%s:\nthe hub answers      %v\nthe cluster answers  %v", what, byHub, direct)
	}
}
