package handon_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/test/apitest"
)

// TestEventsOfHubs: the cluster judges what a hub received as an event, because it alone knows its runs.
func TestEventsOfHubs(t *testing.T) {
	passed := apitest.ARun("smoke-1", 0, v1alpha1.Passed(""))
	passed.Spec.Deployment.SHA = apitest.SHA
	world := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("e2e"), passed), Config: func(c *api.Config) {
		receiver, err := events.New(events.Config{
			Dispatcher: c.Dispatcher, Cache: c.Cache, Live: c.Live, Used: func(*v1alpha1.EventSource) {}, Clock: c.Clock,
			ServerTime: func(t time.Time) time.Time { return t },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Events = receiver
	}})
	cases := map[string]struct {
		reason string
		d      delegation.Delegation
		runs   int
		hint   string
	}{
		"an event":     {"it is handed on as it is", delegation.Delegation{Event: true, DeployedAt: apitest.Noon}, 1, ""},
		"an old event": {"it may not be what is deployed", delegation.Delegation{Event: true, DeployedAt: apitest.Noon.Add(-2 * time.Hour)}, 0, "more than an hour old"},
		"its own post": {"the state that it posted is no deployment", delegation.Delegation{Event: true, Post: &event.Post{
			Environment: "staging", Description: report.DeploymentDescription(passed),
		}}, 0, "has posted this state itself"},
		"a notification": {"its sender means it", delegation.Delegation{DeployedAt: apitest.Noon.Add(-2 * time.Hour)}, 1, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.d.Environments = []string{"staging"}
			header, err := tc.d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			r := apitest.Post(apitest.WithSHA, apitest.Header(delegation.Header, header))
			w := world.Exchange(r)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", tc.reason, w.Code, w.Body)
			}
			answer := apitest.Decode[httpapi.NotificationResult](t, w)
			if len(answer.Results) != tc.runs || !strings.Contains(answer.Hint, tc.hint) {
				t.Errorf("%s: got %s", tc.reason, w.Body)
			}
		})
	}
}
