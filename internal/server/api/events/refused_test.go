package events_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api/events"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestRefusedEvents(t *testing.T) {
	good := payload(t, "deployment_status")
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			if value != "" {
				r.Header.Set(name, value)
			}
		}
	}
	to := func(path string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = path } }
	sha1Of := func(body []byte) string {
		mac := hmac.New(sha1.New, []byte(eventSecret))
		mac.Write(body)
		return "sha1=" + hex.EncodeToString(mac.Sum(nil))
	}
	cases := map[string]struct {
		reason string
		change func(*http.Request)
		body   []byte
		status int
		code   string
	}{
		"unknown name":        {"there is no such source", to("/api/events/acme/gitlab"), good, 404, "not_found"},
		"unknown namespace":   {"there is no such team", to("/api/events/nobody/github"), good, 404, "not_found"},
		"without its Secret":  {"it is not configured", to("/api/events/acme/unready"), good, 404, "not_found"},
		"with a short secret": {"it is not configured", to("/api/events/acme/short"), good, 404, "not_found"},
		"of the App":          {"it has another path", to("/api/events/acme/app"), good, 404, "not_found"},
		"of a later version":  {"there is no decoder", to("/api/events/acme/gitea"), good, 404, "not_found"},
		"no signature":        {"anybody can send that", header("X-Hub-Signature-256", ""), good, 401, "invalid_signature"},
		"SHA-1 only": {"it is not safe", func(r *http.Request) {
			header("X-Hub-Signature-256", "")(r)
			header("X-Hub-Signature", sha1Of(good))(r)
		}, good, 401, "invalid_signature"},
		"another secret": {"somebody else has signed it",
			header("X-Hub-Signature-256", signature("another secret of 26 bytes", good)), good, 401, "invalid_signature"},
		"of another body": {"it was changed", header("X-Hub-Signature-256", signature(eventSecret, append([]byte(" "), good...))),
			good, 401, "invalid_signature"},
		"to the App, signed for a team": {"a team does not speak for all", to(appPath), good, 401, "invalid_signature"},
		"a form": {"the signature is of the form", header("Content-Type", "application/x-www-form-urlencoded"), good,
			415, "unsupported_media_type"},
		"compressed": {"it could be of any size", header("Content-Encoding", "gzip"), good, 415, "unsupported_media_type"},
		"by GET": {"events are posted", func(r *http.Request) { r.Method = http.MethodGet }, good, 405,
			"method_not_allowed"},
		"too large": {"events are smaller", func(*http.Request) {}, append(bytes.Repeat([]byte(" "), 512<<10), good...),
			413, "body_too_large"},
		"too large, of unknown length": {"events are smaller", func(r *http.Request) { r.ContentLength = -1 },
			append(bytes.Repeat([]byte(" "), 512<<10), good...), 413, "body_too_large"},
		"a member twice": {"readers disagree which one counts", func(*http.Request) {},
			bytes.Replace(good, []byte(`"sha":`), []byte(`"sha":"x","sha":`), 1), 400, "invalid_body"},
		"a hostile branch": {"it would start a line of a log", func(*http.Request) {},
			payload(t, "deployment_status", `"ref": "main"`, `"ref": "main\n::error::"`), 400, "invalid_body"},
		"suspended": {"the operator wants that", to("/api/events/stopped/github"), good, 403, "team_suspended"},
	}
	suspended := apitest.Team("stopped")
	suspended.Spec.Suspended = true
	elsewhere := eventSecretOf(eventSecret)
	elsewhere.Namespace = "stopped"
	short := eventSecretOf("only 15 bytes..")
	short.Name = "short"
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			named := func(name, secret string, kind v1alpha1.EventSourceType) *v1alpha1.EventSource {
				return source(func(s *v1alpha1.EventSource) { s.Name, s.Spec.Type, s.Spec.Secret.Name = name, kind, secret })
			}
			u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"), suspended.DeepCopy(), elsewhere.DeepCopy(),
				short.DeepCopy(),
				named("unready", "missing", v1alpha1.EventsOfGitHub), named("short", "short", v1alpha1.EventsOfGitHub),
				named("gitea", "postflight-events", "Gitea"),
				source(func(s *v1alpha1.EventSource) { s.Name = "app" }, ofApp), source(func(s *v1alpha1.EventSource) { s.Namespace = "stopped" }))
			u.Validate = tc.status != 413 || tc.body != nil
			w := u.Exchange(deliver("deployment_status", tc.body, tc.change))
			var got httpapi.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != tc.status || got.FailureCode != tc.code {
				t.Errorf("%s: %d %s, want %d %s", tc.reason, w.Code, w.Body, tc.status, tc.code)
			}
			if says := strings.Contains(got.Detail, "content type of the webhook to application/json"); says != (name == "a form") {
				t.Errorf("the answer says what to change: %t: %s", says, got.Detail)
			}
			if tc.code == "not_found" && got.Detail != events.NoEvents {
				t.Errorf("the answer differs from that of others: %s", got.Detail)
			}
			if n := len(u.Suites()); n != 0 {
				t.Errorf("%d Suites", n)
			}
			u.nothingIsRead()
		})
	}
}

// TestEventsAreOff: an installation without EventSources and without an App answers as one that does not know the path.
func TestEventsAreOff(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	for _, path := range []string{appPath, sourcePath} {
		w := h.Exchange(deliver("ping", payload(t, "ping"), func(r *http.Request) { r.URL.Path = path }))
		if got := apitest.Decode[httpapi.Problem](t, w); w.Code != http.StatusNotFound || got.Detail != events.NoEvents {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestAppEvents: an event of the App counts for the teams whose operator lists the repository, and that want events.
func TestAppEvents(t *testing.T) {
	listing := func(name string, suspended bool, repositories ...string) *v1alpha1.Team {
		team := apitest.Team(name)
		team.Spec.Repositories, team.Spec.Suspended = repositories, suspended
		return team
	}
	in := func(namespace string) func(*v1alpha1.EventSource) {
		return func(s *v1alpha1.EventSource) { s.Namespace, s.Spec.Secret = namespace, nil }
	}
	objects := []client.Object{}
	for _, name := range []string{"shop", "web", "docs", "labs", "idle", "gone"} {
		there := apitest.Trigger("smoke-" + name)
		there.Namespace = name
		env := apitest.EnvironmentNamed("staging")
		env.Namespace, env.UID = name, clientUID("uid-staging-"+name)
		objects = append(objects, there, env)
	}
	objects = append(objects,
		listing("shop", false, "github.com/acme/shop"), source(in("shop")),
		source(in("shop"), func(s *v1alpha1.EventSource) { s.Name = "second" }),
		listing("web", false, "Acme/*"), source(in("web"), renamed),
		listing("docs", false, "github.com/acme/docs"), source(in("docs")),
		listing("labs", false, "ghe.example.com/acme/*"), source(in("labs")),
		listing("idle", false, "github.com/acme/*"),
		listing("gone", true, "github.com/acme/*"), source(in("gone")),
	)
	u := startHub(t, objects...)
	body := payload(t, "deployment_status")
	got := u.take(deliver("deployment_status", body, toApp(body)))
	found := map[string]string{}
	for _, s := range u.Suites() {
		found[s.Namespace] = s.Spec.Deployment.Type
	}
	if len(got.Results) != 2 || len(found) != 2 || found["shop"] != "Production" || found["web"] != "production" {
		t.Errorf("got %+v and the runs %v, want one in shop and one in web", got, found)
	}
	for _, says := range []string{`"team":"shop","event":"shop/github"`, `"team":"web","event":"web/github"`} {
		if !strings.Contains(u.Audit.String(), says) {
			t.Errorf("no audit line has %s: %s", says, u.Audit)
		}
	}
	unknown := payload(t, "deployment_status", "acme/shop", "other/shop")
	if got := u.take(deliver("deployment_status", unknown, toApp(unknown))); !strings.Contains(got.Ignored, "No team") ||
		len(u.Suites()) != 2 {
		t.Errorf("of an unknown repository: %+v", got)
	}
	ping := payload(t, "ping")
	if got := u.take(deliver("ping", ping, toApp(ping))); !strings.Contains(got.Ignored, "right secret") {
		t.Errorf("ping: %+v", got)
	}
}

// TestAppEventThatSomeTeamsFail: an error that passes is the answer, also before one that stays, so that the event is delivered again. Each
// team's audit line has its own status.
func TestAppEventThatSomeTeamsFail(t *testing.T) {
	var objects []client.Object
	for _, name := range []string{"a-down", "b-bad", "c-good"} {
		team, there, env := apitest.Team(name), apitest.Trigger("smoke"), apitest.EnvironmentNamed("staging")
		team.Spec.Repositories = []string{"github.com/acme/shop"}
		there.Namespace, env.Namespace = name, name
		there.UID, env.UID = clientUID("uid-"+name), clientUID("uid-staging-"+name)
		objects = append(objects, team, there, env, source(ofApp, func(s *v1alpha1.EventSource) {
			s.Namespace = name
			if name == "b-bad" {
				s.Spec.Environments = []v1alpha1.EventEnvironment{{Event: "Production", DeploymentType: "two\nlines"}}
			}
		}))
	}
	u := startHub(t, objects...)
	u.Dispatcher.Writer = interceptor.NewClient(u.Cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetNamespace() == "a-down" {
				return apitest.ErrRefused
			}
			return c.Create(ctx, o, opts...)
		},
	})
	body := payload(t, "deployment_status")
	if w := u.Exchange(deliver("deployment_status", body, toApp(body))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503: %s", w.Code, w.Body)
	}
	for team, code := range map[string]string{"a-down": "503", "b-bad": "400", "c-good": "200"} {
		found := false
		for line := range strings.Lines(u.Audit.String()) {
			found = strings.Contains(line, `"team":"`+team+`"`) && strings.Contains(line, `"code":`+code) || found
		}
		if !found {
			t.Errorf("no audit line of %s has the status %s: %s", team, code, u.Audit)
		}
	}
}

// TestSlowEvent: the answer names the limit of events.
func TestSlowEvent(t *testing.T) {
	u, w := startHub(t, source(), eventSecretOf(eventSecret)), httptest.NewRecorder()
	u.ServeHTTP(w, deliver("ping", nil, func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(apitest.FailingReader{Err: os.ErrDeadlineExceeded}), 100
	}))
	if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "within 5s") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestSenderHangsUp: GitHub waits for ten seconds, and sends nothing again. The API server comes back later.
func TestSenderHangsUp(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"))
	ctx, hangUp := context.WithCancel(t.Context())
	failures := 0
	u.Dispatcher.Writer = interceptor.NewClient(u.Cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if failures++; failures < 5 {
				hangUp()
				return apitest.ErrRefused
			}
			return c.Create(ctx, o, opts...)
		},
	})
	u.Exchange(deliver("deployment_status", payload(t, "deployment_status"), func(r *http.Request) { *r = *r.WithContext(ctx) }))
	if n := len(u.Suites()); n != 1 || failures != 5 {
		t.Errorf("%d Suites after %d attempts", n, failures)
	}
	if line := u.Audit.String(); !strings.Contains(line, `"code":499`) || !strings.Contains(line, `"created":1`) {
		t.Errorf("audit: %s", line)
	}
}

// TestEventDuringAnOutage: the sender learns that the event failed, so that it is delivered again.
func TestEventDuringAnOutage(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"))
	u.Dispatcher.Writer = interceptor.NewClient(u.Cluster, interceptor.Funcs{Create: apitest.Refuse(apitest.ErrRefused)})
	if w := u.Exchange(deliver("deployment_status", payload(t, "deployment_status"))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	u.Dispatcher.Writer = u.Cluster
	if got := u.take(deliver("deployment_status", payload(t, "deployment_status"))); len(got.Results) != 1 ||
		got.Results[0].CreatedSuiteID == "" {
		t.Errorf("delivered again: %+v", got)
	}
}
