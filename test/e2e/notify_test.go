package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const notifyPath = "/api/webhooks/deploy_success"

// notification is the body of a request, by the names of the contract.
type notification map[string]any

// result is the result of a notification for one Trigger.
type result struct {
	Trigger   string `json:"trigger_id"`
	Created   string `json:"created_suite_id"`
	Duplicate string `json:"duplicate_suite_id"`

	Differs []string `json:"duplicate_differs"`
	Failure string   `json:"failure_reason"`
}

type answer struct {
	status int
	header http.Header
	body   []byte

	Results     []result `json:"results"`
	FailureCode string   `json:"failureCode"`
	EventID     string   `json:"eventId"`
}

// client has the time-out of the real clients.
var httpClient = &http.Client{Timeout: 60 * time.Second}

// send makes one request, as CI would, and never repeats it.
func send(method, url, key string, body []byte, headers ...string) (answer, error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return answer{}, err
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(a.body, &a)
	}
	return a, err
}

// notify sends a notification that is expected to be accepted.
func (tm *team) notify(m *manager, n notification) []result {
	tm.t.Helper()
	a, err := tm.tryNotify(m, n)
	if err != nil {
		tm.t.Fatalf("notify: %v", err)
	}
	return a.Results
}

func (tm *team) tryNotify(m *manager, n notification, headers ...string) (answer, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return answer{}, err
	}
	a, err := send(http.MethodPost, m.url+notifyPath, tm.key, body, headers...)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", a.status, a.body)
	}
	return a, err
}

// run sends a notification that is expected to create one Suite, and names it.
func (tm *team) run(m *manager, n notification) string {
	tm.t.Helper()
	results := tm.notify(m, n)
	if len(results) != 1 || results[0].Created == "" {
		tm.t.Fatalf("notification %v: want one created Suite, got %+v", n, results)
	}
	return results[0].Created
}

// sha is a commit that no other notification has.
func sha() string { return random(20) }

// story logs what a test does or has seen.
func story(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf(time.Now().Format("15:04:05.000 ")+format, args...)
}
