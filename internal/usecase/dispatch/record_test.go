package dispatch

import (
	"context"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

type fakeJournal []record.Notification

func (j *fakeJournal) Record(team string, n record.Notification) {
	if team != namespace {
		panic(team)
	}
	*j = append(*j, n)
}

// TestRecord: each notification has a line, also one that matches nothing; what is no notification has none.
func TestRecord(t *testing.T) {
	onMain := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }
	elsewhere := func(t *v1alpha1.Trigger) { t.Spec.Environment = "production" }
	for reason, tc := range map[string]struct {
		body   string
		change func(*Request)
		want   []record.Notification
	}{
		"one that matches":         {`{"branch":"main","variables":{"REGION":"eu","NPM_TOKEN":"x"}}`, func(*Request) {}, []record.Notification{{Way: "api", Branch: "main", Variables: map[string]string{"REGION": "eu"}, Withheld: []string{"NPM_TOKEN"}, Matched: []string{"a", "b"}}}},
		"one that matches nothing": {`{"branch":"x"}`, func(*Request) {}, []record.Notification{{Way: "api", Branch: "x"}}},
		"an event":                 {`{"branch":"x"}`, func(r *Request) { r.Origin = FromEvent(time.Time{}) }, []record.Notification{{Way: "event", Branch: "x"}}},
		"a rollout":                {`{"branch":"main"}`, func(r *Request) { r.Origin = FromRollout("staging") }, []record.Notification{{Way: "workload", Branch: "main", Environment: "staging", Matched: []string{"a"}}}},
		"a dry run":                {`{"branch":"main"}`, dryRun, nil},
		"a schedule":               {`{"branch":"main"}`, func(r *Request) { r.Origin = FromSchedule(trigger("a"), noon, noon) }, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			var journal fakeJournal
			h := start(t, setup{
				objects: acme(environmentNamed("production"), trigger("a", onMain), trigger("b", onMain, elsewhere)),
				config:  func(c *Config) { c.Journal = &journal },
			})
			h.notify(tc.body, tc.change)
			for i := range tc.want {
				tc.want[i].At, tc.want[i].HostingService = noon.Truncate(1e6), "GitHub"
			}
			if diff := cmp.Diff(tc.want, []record.Notification(journal)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRecordNothingThatIsSentAgain: a notification that could not be answered is recorded when it could.
func TestRecordNothingThatIsSentAgain(t *testing.T) {
	var journal fakeJournal
	h := start(t, setup{objects: acme(trigger("a")), config: func(c *Config) { c.Journal = &journal }, faults: interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return &url.Error{Op: "Post", URL: "https://10.0.0.1:6443/", Err: syscall.ECONNREFUSED}
		},
	}})
	if _, err := h.dispatch(`{"branch":"main"}`); err == nil || len(journal) > 0 {
		t.Errorf("%v, recorded %+v", err, journal)
	}
}
