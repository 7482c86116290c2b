package github_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/test/payload"
)

// TestServiceAmongBrokenTexts: without its service, the deployment of one service would be tested as that of the whole repository.
func TestServiceAmongBrokenTexts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, payload string
		want            string // empty: refused
	}{
		"a broken neighbour":           {"only the service is read", `{"service":"cart","note":"BROKEN"}`, "cart"},
		"a broken name of a neighbour": {"only the service is read", `{"BROKEN":1,"service":"cart"}`, "cart"},
		"deep in a neighbour":          {"only the service is read", `{"author":[{"name":"BROKEN"}],"service":"cart"}`, "cart"},
		"a broken service":             {"a repaired name would be another service", `{"service":"cart BROKEN"}`, ""},
	} {
		for _, broken := range []string{`\ud83d`, "f\xfcr", "\xf0\x9f"} {
			object := strings.Replace(tc.payload, "BROKEN", broken, 1)
			text := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(object) + `"`
			for _, sent := range []string{object, text} {
				t.Run(name+" in "+sent, func(t *testing.T) {
					body := strings.Replace(string(payload.With(t, "deployment_status.json", values{"deployment.payload": "PAYLOAD"})), `"PAYLOAD"`, sent, 1)
					got, err := github.Decode(headers("deployment_status"), []byte(body), event.Options{})
					if tc.want == "" {
						invalid, ok := errors.AsType[*event.InvalidError](err)
						if !ok || !strings.Contains(invalid.Reason, "service") {
							t.Errorf("%s: %+v, %v", tc.reason, got, err)
						}
						return
					}
					if err != nil || got.Notification == nil || got.Notification.Service != tc.want {
						t.Errorf("%s: %+v, %v, want the service %q", tc.reason, got.Notification, err, tc.want)
					}
				})
			}
		}
	}
}
