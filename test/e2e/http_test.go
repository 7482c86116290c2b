package e2e

import (
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// suspend suspends a team.
func (tm *team) suspend() {
	tm.t.Helper()
	object := &v1alpha1.Team{}
	if err := tm.Get(tm.t.Context(), client.ObjectKey{Name: tm.name}, object); err != nil {
		tm.t.Fatal(err)
	}
	object.Spec.Suspended = true
	if err := tm.Update(tm.t.Context(), object); err != nil {
		tm.t.Fatal(err)
	}
}

// TestRefusals tests the answers to wrong requests over real HTTP.
func TestRefusals(t *testing.T) {
	c := useCluster(t)
	tm, suspended := newTeam(t, c), newTeam(t, c)
	tm.trigger("smoke", runs("true"))
	suspended.suspend()
	m := runManager(t, c, options{})

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

// TestRevokedKey deletes a key that works, which has to end within a second.
func TestRevokedKey(t *testing.T) {
	c := useCluster(t)
	tm := newTeam(t, c)
	m := runManager(t, c, options{})
	tm.notify(m, notification{})
	if err := tm.Delete(t.Context(), &v1alpha1.APIKey{ObjectMeta: tm.meta("ci")}); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for {
		a, err := send(http.MethodPost, m.url+notifyPath, tm.key, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(revoked)
		if a.status == http.StatusUnauthorized {
			story(t, "the key was refused %s after it was deleted", took.Round(time.Millisecond))
			return
		}
		if took > time.Second {
			t.Fatalf("the key still works %s after it was deleted: %d", took, a.status)
		}
	}
}
