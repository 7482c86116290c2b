package notifications_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/replay"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/stores"
)

const replayPath = "/api/v0/replay"

const manifest = `apiVersion: postflight.dev/v1alpha1
kind: Trigger
metadata: {name: smoke}
spec:
  environment: staging
  match: {branches: ["release/**"]}
`

// replaying is a harness whose notifications are saved in a real store. Writes counts those that reach the API server.
type replaying struct {
	*apitest.World
	journal *archive.Journal
	bucket  *objectstore.Bucket
	writes  int
}

func startReplaying(t *testing.T, objects ...client.Object) *replaying {
	t.Helper()
	stores.Credentials(t)
	bucket := stores.Rclone(t).Bucket(t)
	h := &replaying{journal: archive.NewJournal(&archive.Archive{Bucket: bucket}, clocktesting.NewFakeClock(apitest.Noon)), bucket: bucket}
	h.World = apitest.Start(t, apitest.Setup{
		Objects:  apitest.Acme(objects...),
		Dispatch: func(c *dispatch.Config) { c.Journal = h.journal },
		Config: func(c *api.Config) {
			c.Replays = replay.NewReader(c.Cache, &archive.Archive{Bucket: bucket}, c.Clock)
		},
		Faults: interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				h.writes++
				return c.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				h.writes++
				return c.Patch(ctx, o, p, opts...)
			},
		},
	})
	return h
}

// sent notifies, and saves the line. A minute passes.
func (h *replaying) sent(body string) {
	h.T.Helper()
	h.Notify(body)
	h.journal.Save(log.IntoContext(h.T.Context(), logr.Discard()))
	_ = h.Clock.Sleep(h.T.Context(), time.Minute)
}

func (h *replaying) keys() (all []string) {
	h.T.Helper()
	for o, err := range h.bucket.List(h.T.Context(), objectstore.Listing{}) {
		if err != nil {
			h.T.Fatal(err)
		}
		all = append(all, o.Key)
	}
	return all
}

func replayOf(content string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, replayPath, strings.NewReader(content))
	r.Header.Set("Authorization", "Bearer "+apitest.GoodKey)
	r.Header.Set("Content-Type", "application/yaml")
	return build.With(r, change...)
}

// TestReplay: what was notified before can be replayed, also what matched nothing, and nothing is created.
func TestReplay(t *testing.T) {
	onMain := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }
	h := startReplaying(t, apitest.Trigger("smoke", onMain))
	h.sent(`{"branch":"main","sha":"a","variables":{"NPM_TOKEN":"hunter2"}}`)
	h.sent(`{"branch":"release/1","sha":"b","deployment_type":"staging","deployment_url":"https://x.example.com","repository":"acme/shop","pull_request_number":7,"commit_message":"fix"}`)
	h.sent(`{"branch":"feature"}`)
	h.Clock.Time = h.Clock.Time.Add(24 * time.Hour)
	h.sent(`{"branch":"release/2","sha":"c"}`)
	runs, keys, writes := len(h.Suites()), h.keys(), h.writes

	got := apitest.Decode[httpapi.Replay](t, h.Exchange(replayOf(manifest)))
	yes, no := true, false
	want := []httpapi.ReplayChange{
		{Trigger: "smoke", Change: "starts", MatchedThen: &no, At: apitest.Noon.Add(24*time.Hour + 3*time.Minute).Truncate(time.Millisecond),
			Way: "api", Branch: "release/2", SHA: "c"},
		{Trigger: "smoke", Change: "starts", MatchedThen: &no, At: apitest.Noon.Add(time.Minute).Truncate(time.Millisecond), Way: "api",
			Branch: "release/1", SHA: "b",
			DeploymentType: "staging", DeploymentURL: "https://x.example.com", Repository: "acme/shop", PullRequestNumber: 7, CommitMessage: "fix"},
		{Trigger: "smoke", Change: "stops", MatchedThen: &yes, At: apitest.Noon.Truncate(time.Millisecond), Way: "api", Branch: "main", SHA: "a"},
	}
	if diff := cmp.Diff(want, got.Changes); diff != "" {
		t.Errorf("changes: -want +got:\n%s", diff)
	}
	if c := got.Triggers[0]; got.Notifications != 4 || c.Starts != 2 || c.Stops != 1 || c.Matched != 2 || c.MatchedBefore != 1 ||
		got.Next != "" {
		t.Errorf("got %+v", got)
	}
	for reason, tc := range map[string]struct {
		request *http.Request
		starts  int
	}{
		"a shorter time": {replayOf(manifest, apitest.Query("since=1h")), 1},
		"JSON": {replayOf(`{"apiVersion":"postflight.dev/v1alpha1","kind":"Trigger","metadata":{"name":"smoke"},"spec":{"environment":"staging"}}`,
			apitest.Header("Content-Type", "application/json; charset=utf-8")), 3},
		"a value that is not kept": {replayOf(strings.Replace(manifest, `branches: ["release/**"]`,
			`expression: "notification.variables.NPM_TOKEN != ''"`, 1)), 0},
	} {
		t.Run(reason, func(t *testing.T) {
			w := h.Exchange(tc.request)
			if w.Code != http.StatusOK || apitest.Decode[httpapi.Replay](t, w).Triggers[0].Starts != tc.starts ||
				strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	if len(h.Suites()) != runs || h.writes != writes || !slices.Equal(h.keys(), keys) {
		t.Errorf("a replay wrote: %d runs, %d writes of the API server, and the store has %q", len(h.Suites()), h.writes, h.keys())
	}
}

func TestReplayRefused(t *testing.T) {
	const expression = `spec: {environment: staging, match: {expression: "notification.brnch == ''"}}`
	head, _, _ := strings.Cut(manifest, "spec:")
	for reason, tc := range map[string]struct {
		request *http.Request
		status  int
		code    string
		says    string
	}{
		"an expression that does not compile": {replayOf(head + expression), 400, "invalid_trigger",
			"undefined field 'brnch' (line 1, column 13); the fields of notification are branch"},
		"an unknown field": {replayOf(strings.Replace(manifest, "branches", "branchs", 1)), 400, "invalid_trigger",
			`unknown field \"spec.match.branchs\"`},
		"no Trigger": {replayOf("kind: Environment"), 400, "invalid_trigger", "There is no Trigger in it"},
		"another namespace": {replayOf(strings.Replace(manifest, "name: smoke", "name: smoke, namespace: other", 1)), 400,
			"invalid_trigger", "in the namespace other, and your team has acme"},
		"a wrong time": {replayOf(manifest, apitest.Query("since=yesterday")), 400, "invalid_request", "is no time"},
		"a time to come": {replayOf(manifest, apitest.Query("since=2030-01-01")), 400, "invalid_request",
			"is in the future"},
		"a wrong cursor": {replayOf(manifest, apitest.Query("cursor=x")), 400, "invalid_request",
			"Send the cursor as it was"},
		"an unknown parameter": {replayOf(manifest, apitest.Query("until=1h")), 400, "invalid_request", "Send only since, cursor"},
		"another type": {replayOf(manifest, apitest.Header("Content-Type", "text/plain")), 415, "unsupported_media_type",
			"application/yaml or application/json"},
		"no type": {replayOf(manifest, apitest.Header("Content-Type")), 415, "unsupported_media_type",
			"application/yaml or application/json"},
		"too large": {replayOf(strings.Repeat("#", 300<<10)), 413, "body_too_large", "262144"},
		"no key":    {replayOf(manifest, apitest.Header("Authorization")), 401, "unauthenticated", ""},
		"GET":       {replayOf(manifest, apitest.Method("GET")), 405, "method_not_allowed", "Use POST"},
	} {
		t.Run(reason, func(t *testing.T) {
			h := startReplaying(t)
			h.Validate = tc.status != http.StatusUnsupportedMediaType
			w := h.Exchange(tc.request)
			if w.Code != tc.status || apitest.Decode[httpapi.Problem](t, w).FailureCode != tc.code || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s %s", w.Code, w.Body, tc.status, tc.code, tc.says)
			}
		})
	}
	if w := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()}).Exchange(replayOf(manifest)); w.Code != 503 ||
		apitest.Decode[httpapi.Problem](t, w).FailureCode != "store_not_configured" {
		t.Errorf("without a store: %d %s", w.Code, w.Body)
	}
}

// TestReplayOfAnotherTeam sees none of its notifications.
func TestReplayOfAnotherTeam(t *testing.T) {
	h := startReplaying(t)
	h.sent(`{"branch":"release/1"}`)
	answer, err := h.Replays.Replay(t.Context(), replay.Query{
		Team: apitest.Team("other"), Triggers: []*v1alpha1.Trigger{apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Namespace = "" })},
		Since: apitest.Noon.Add(-time.Hour), Before: h.Clock.Now(),
	})
	if err != nil || answer.Notifications != 0 {
		t.Errorf("%+v, %v", answer, err)
	}
}
