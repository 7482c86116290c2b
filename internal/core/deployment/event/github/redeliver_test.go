package github_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
)

// TestRedeliver: it is noon; attempts were that long ago.
func TestRedeliver(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	attempt := func(id int64, guid string, code int, ago time.Duration) github.Attempt {
		return github.Attempt{ID: id, GUID: guid, Event: "deployment_status", Code: code, At: noon.Add(-ago)}
	}
	push := attempt(1, "a", 503, time.Hour/2)
	push.Event = "push"
	question := attempt(2, "q", 503, time.Hour/2)
	question.Event = "deployment_protection_rule"
	var many []github.Attempt
	for i := range int64(60) {
		many = append(many, attempt(i+1, fmt.Sprint(i), 503, 10*time.Minute))
	}
	cases := map[string]struct {
		reason string
		all    []github.Attempt
		want   []int64
	}{
		"none":        {"nothing was delivered", nil, nil},
		"taken":       {"it has started its runs", []github.Attempt{attempt(1, "a", 200, 10*time.Minute)}, nil},
		"unavailable": {"the API server may be back", []github.Attempt{attempt(1, "a", 503, time.Minute)}, []int64{1}},
		"timed out":   {"nobody knows whether it was taken", []github.Attempt{attempt(1, "a", 0, time.Minute)}, []int64{1}},
		"just now":    {"the API server had no time to come back", []github.Attempt{attempt(1, "a", 503, time.Minute-1)}, nil},
		"refused":     {"the answer would be the same", []github.Attempt{attempt(1, "a", 401, time.Minute)}, nil},
		"taken at last": {"one attempt is enough", []github.Attempt{attempt(2, "a", 200, time.Minute),
			attempt(1, "a", 503, 10*time.Minute)}, nil},
		"taken, and then not": {"somebody delivered it again",
			[]github.Attempt{attempt(2, "a", 503, 5*time.Minute), attempt(1, "a", 200, 10*time.Minute)}, nil},
		"twice unavailable": {"the second pause is longer",
			[]github.Attempt{attempt(2, "a", 503, 2*time.Minute-1), attempt(1, "a", 503, 10*time.Minute)}, nil},
		"twice, two minutes ago": {"the last attempt is repeated",
			[]github.Attempt{attempt(2, "a", 503, 2*time.Minute), attempt(1, "a", 503, 10*time.Minute)}, []int64{2}},
		"too old": {"the deployment would be too old on arrival", []github.Attempt{attempt(1, "a", 503, 55*time.Minute)}, nil},
		"too old, but tried since": {"the age of the event counts",
			[]github.Attempt{attempt(2, "a", 503, 20*time.Minute), attempt(1, "a", 503, 55*time.Minute)}, nil},
		"another event": {"it starts nothing", []github.Attempt{push}, nil},
		"a question":    {"a deployment waits for the answer", []github.Attempt{question}, []int64{2}},
		"two events": {"each is repeated", []github.Attempt{attempt(5, "b", 502, 5*time.Minute),
			attempt(3, "a", 503, 5*time.Minute)}, []int64{3, 5}},
		"six attempts": {"it was tried for half an hour", []github.Attempt{
			attempt(1, "a", 503, 50*time.Minute), attempt(2, "a", 503, 49*time.Minute), attempt(3, "a", 503, 47*time.Minute),
			attempt(4, "a", 503, 43*time.Minute), attempt(5, "a", 503, 35*time.Minute), attempt(6, "a", 503, 19*time.Minute)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := github.Redeliver(tc.all, noon); !slices.Equal(got, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	for code, final := range map[int]bool{
		200: true, 204: true, 400: true, 401: true, 403: true, 409: true, 413: true, 415: true,
		0: false, 302: false, 404: false, 405: false, 408: false, 429: false, 499: false, 500: false, 502: false, 504: false,
	} {
		if got := github.Redeliver([]github.Attempt{attempt(1, "a", code, 10*time.Minute)}, noon); (len(got) == 0) != final {
			t.Errorf("after status %d: got %v", code, got)
		}
	}
	if got := github.Redeliver(many, noon); len(got) != 50 || got[0] != 1 {
		t.Errorf("%d at once, the first %v", len(got), got[:1])
	}
}
