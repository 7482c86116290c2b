package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// suspend suspends a team.
func (tm *team) suspend() {
	tm.t.Helper()
	object := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.name}}
	if err := tm.Patch(tm.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspended":true}}`))); err != nil {
		tm.t.Fatal(err)
	}
}

// TestRefusals tests the answers to wrong requests over real HTTP.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm, suspended := newTeam(t, c), newTeam(t, c)
	tm.trigger("smoke", runs("true"))
	suspended.suspend()
	m := tm.sharedManager()
	suspended.awaitStatus(m, http.StatusForbidden)

	tests := map[string]struct {
		method, key, body string
		status            int
		code              string
		header            [2]string
	}{
		"no key":           {"POST", "", "{}", 401, "unauthenticated", [2]string{"WWW-Authenticate", "Bearer"}},
		"wrong key":        {"POST", "pf_wrong", "{}", 401, "unauthenticated", [2]string{"WWW-Authenticate", "Bearer"}},
		"suspended team":   {"POST", suspended.key, "{}", 403, "team_suspended", [2]string{}},
		"GET":              {"GET", tm.key, "", 405, "method_not_allowed", [2]string{"Allow", "POST"}},
		"PUT":              {"PUT", tm.key, "{}", 405, "method_not_allowed", [2]string{"Allow", "POST"}},
		"malformed JSON":   {"POST", tm.key, `{"branch": `, 400, "invalid_body", [2]string{}},
		"not an object":    {"POST", tm.key, `["main"]`, 400, "invalid_body", [2]string{}},
		"wrong type":       {"POST", tm.key, `{"branch": 7}`, 400, "invalid_body", [2]string{}},
		"key before body":  {"POST", "pf_wrong", `{"branch": `, 401, "unauthenticated", [2]string{}},
		"method before it": {"GET", "pf_wrong", "", 405, "method_not_allowed", [2]string{"Allow", "POST"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := send(tc.method, m.url+notifyPath, tc.key, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if a.status != tc.status || a.FailureCode != tc.code {
				t.Errorf("%s: status %d, failureCode %q; want %d, %q\n%s", tc.method, a.status, a.FailureCode, tc.status, tc.code, a.body)
			}
			if want := "application/problem+json"; a.header.Get("Content-Type") != want {
				t.Errorf("Content-Type: %q, want %q", a.header.Get("Content-Type"), want)
			}
			if a.EventID == "" || a.EventID != a.header.Get("X-Request-Id") {
				t.Errorf("eventId %q, X-Request-Id %q: want the same", a.EventID, a.header.Get("X-Request-Id"))
			}
			if tc.header[0] != "" && a.header.Get(tc.header[0]) != tc.header[1] {
				t.Errorf("%s: %q, want %q", tc.header[0], a.header.Get(tc.header[0]), tc.header[1])
			}
		})
	}
	if suites := tm.suites(); len(suites) != 0 {
		t.Errorf("refused requests created %d Suites", len(suites))
	}
}

// TestRevokedKey deletes a key that works, and soon does not.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, useCluster(t))
	tm.revokeKey(tm.sharedManager())
}

// TestRevokedKeyAtOnce: it ends within a second.
func TestRevokedKeyAtOnce(t *testing.T) {
	tier.Nightly(t, "it measures a time")
	c := useCluster(t)
	m := runManager(t, c, options{})
	tier.AtMost(t, "the end of the key", time.Second, func() time.Duration { return newTeam(t, c).revokeKey(m) })
}

// revokeKey returns how long the manager still accepts the key that it deletes.
func (tm *team) revokeKey(m *manager) time.Duration {
	tm.t.Helper()
	tm.awaitKnown(m)
	tm.notify(m, notification{})
	if err := tm.Delete(tm.t.Context(), &v1alpha1.APIKey{ObjectMeta: tm.meta("ci")}); err != nil {
		tm.t.Fatal(err)
	}
	revoked := time.Now()
	tm.awaitStatus(m, http.StatusUnauthorized)
	return time.Since(revoked)
}

// awaitStatus waits until notifications of the team get a status.
func (tm *team) awaitStatus(m *manager, want int) {
	tm.t.Helper()
	poll.Until(tm.t, fmt.Sprintf("the team %s gets status %d", tm.name, want), func() string {
		a, err := send(http.MethodPost, m.url+notifyPath, tm.key, []byte("{}"))
		if err != nil || a.status != want {
			return fmt.Sprintf("status %d, %v", a.status, err)
		}
		return ""
	})
}
