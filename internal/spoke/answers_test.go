package spoke

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestAnswersOfNoPostflight: what is in the place of a cluster does not say that no Trigger matches, nor fills the memory.
func TestAnswersOfNoPostflight(t *testing.T) {
	many := func(member string, n int) string {
		return `{"team":"shop","` + member + `":[{}` + strings.Repeat(",{}", n) + `]}`
	}
	cases := map[string]struct {
		reason, body string
		refused      bool
		good         string // what it is a good answer to
	}{
		"health check":       {"it has no results", `{"status":"ok"}`, true, ""},
		"empty":              {"it has no results", `{}`, true, ""},
		"null":               {"it has no results", `null`, true, ""},
		"no match":           {"an empty list says it", `{"results":[]}`, false, "notify"},
		"no decision":        {"there is neither a run nor a reason", `{"results":[{"trigger_id":"e2e"}]}`, true, ""},
		"two decisions":      {"only one is true", `{"results":[{"trigger_id":"e2e","created_suite_id":"a","failure_reason":"no"}]}`, true, ""},
		"two runs":           {"only one is true", `{"results":[{"trigger_id":"e2e","created_suite_id":"a","duplicate_suite_id":"b"}]}`, true, ""},
		"a run that is none": {"it would be in the logs of CI", `{"results":[{"trigger_id":"e2e","created_suite_id":"a b"}]}`, true, ""},
		"another team":       {"a proxy may mix them up", `{"team":"pay","actions":["read"]}`, true, ""},
		"this team":          {"it is the one that was asked for", `{"team":"shop","actions":["read"]}`, true, "whoami overview"},
		"many results":       {"each takes a hundred times its bytes", many("results", 60_000), false, ""},
		"many runs":          {"each takes three hundred times its bytes", many("runs", 20_000), false, ""},
		"many actions":       {"the hub asks each minute", `{"team":"shop","actions":[""` + strings.Repeat(`,""`, 2000) + `]}`, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(t, "eu", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tc.body) })
			_, notify := w.Notify(t.Context(), "eu", delegation.Notification{Command: command("shop"), Notification: &notification.Notification{}})
			_, whoami := w.WhoAmI(t.Context(), "eu", command("shop"))
			_, overview := w.Overview(t.Context(), "eu", command("shop"))
			for question, err := range map[string]error{"notify": notify, "whoami": whoami, "overview": overview} {
				failed, _ := errors.AsType[*delegation.Error](err)
				if good := strings.Contains(tc.good, question); (failed == nil) != good && !strings.HasPrefix(name, "many") {
					t.Errorf("%s: %s got %v", tc.reason, question, err)
				}
			}
			if name == "many results" && notify == nil || name == "many runs" && overview == nil || name == "many actions" && whoami == nil {
				t.Errorf("%s: it was read", tc.reason)
			}
		})
	}
}

// TestLargeNotifications: what a cluster takes directly, it takes from a hub.
func TestLargeNotifications(t *testing.T) {
	w := newWorld(t)
	var size int64
	key := ""
	w.serve(t, "eu", func(w http.ResponseWriter, r *http.Request) {
		size, key = r.ContentLength, r.Header.Get("Idempotency-Key")
		var n httpapi.Notification
		if json.NewDecoder(r.Body).Decode(&n) != nil || n.Variables["A"] != strings.Repeat("<", 32<<10) {
			http.Error(w, "not what was sent", http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, `{"results":[]}`)
	})
	for sent, want := range map[string]string{"deploy-1": "deploy-1", "deployment/Ünï-2": "sha256/", strings.Repeat("x", 300): "sha256/"} {
		n := delegation.Notification{Command: command("shop"), IdempotencyKey: sent,
			Notification: &notification.Notification{Variables: map[string]string{"A": strings.Repeat("<", 32<<10)}}}
		if _, err := w.Notify(t.Context(), "eu", n); err != nil || size > 33<<10 {
			t.Errorf("%d bytes: %v", size, err)
		}
		if !strings.HasPrefix(key, want) || len(key) > 255 {
			t.Errorf("the key %q became %q", sent, key)
		}
	}
}
