package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/event"
	"github.com/postflight-dev/postflight/internal/core/event/flux"
	"github.com/postflight-dev/postflight/internal/core/event/github"
	"github.com/postflight-dev/postflight/internal/core/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

const (
	eventSecret = "a secret of more than 16 bytes"
	appSecret   = "the secret of the App of the manager"
	sourcePath  = "/api/events/acme/github"
	appPath     = "/api/events/github"
)

// hub is the Receiver of a harness, and what it was told.
type hub struct {
	*harness
	used []string
}

func startHub(t *testing.T, objects ...client.Object) *hub {
	t.Helper()
	u := &hub{}
	objects = append(acme(), objects...)
	u.harness = start(t, setup{objects: objects, config: func(c *Config) {
		receiver, err := events.New(events.Config{
			Dispatcher: c.Dispatcher, Cache: c.Cache, Live: c.Live, Clock: c.Clock, ServerTime: func(t time.Time) time.Time { return t },
			Formats: map[v1alpha1.EventSourceType]event.Format{
				v1alpha1.EventsOfGitHub: github.Format(), v1alpha1.EventsOfGitLab: gitlab.Format(), v1alpha1.EventsOfFlux: flux.Format(),
			},
			App:     events.App{Secret: func() ([]byte, error) { return []byte(appSecret), nil }, ID: 88001, Host: "github.com"},
			Reports: report.Options{PublicURL: "https://postflight.example.com"},
			Used:    func(s *v1alpha1.EventSource) { u.used = append(u.used, s.Namespace+"/"+s.Name) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Events = receiver
	}})
	return u
}

func source(change ...func(*v1alpha1.EventSource)) *v1alpha1.EventSource {
	s := &v1alpha1.EventSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "github"},
		Spec:       v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func clientUID(uid string) types.UID { return types.UID(uid) }

func ofApp(s *v1alpha1.EventSource) { s.Spec.Secret = nil }

func eventSecretOf(value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "postflight-events"}, Data: map[string][]byte{"github": []byte(value)}}
}

// payload is a recorded body with other values.
func payload(t *testing.T, file string, changes ...string) []byte {
	t.Helper()
	body, err := os.ReadFile("../../core/event/github/testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		if !bytes.Contains(body, []byte(changes[0])) {
			t.Fatalf("%s has no %s", file, changes[0])
		}
		body = []byte(strings.NewReplacer(changes...).Replace(string(body)))
	}
	return body
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver is a good delivery of an event to the EventSource, as GitHub sends it.
func deliver(kind string, body []byte, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, sourcePath, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	r.Header.Set("X-GitHub-Event", kind)
	r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", signature(eventSecret, body))
	for _, c := range change {
		c(r)
	}
	return r
}

func toApp(body []byte) func(*http.Request) {
	return func(r *http.Request) {
		r.URL.Path = appPath
		r.Header.Set("X-Hub-Signature-256", signature(appSecret, body))
	}
}

func (u *hub) take(r *http.Request) httpapi.EventResult {
	u.t.Helper()
	w := u.exchange(r)
	if w.Code != http.StatusOK {
		u.t.Fatalf("status %d, want 200: %s", w.Code, w.Body)
	}
	return decode[httpapi.EventResult](u.t, w)
}

func production(t *v1alpha1.Trigger) { t.Spec.Match.DeploymentTypes = []string{"production"} }

func renamed(s *v1alpha1.EventSource) {
	s.Spec.Environments = []v1alpha1.EventEnvironment{{Event: "Production", DeploymentType: "production"}}
}

// TestDeploymentStatus: a deployment that has succeeded starts the run that a notification with the same values would start.
func TestDeploymentStatus(t *testing.T) {
	u := startHub(t, source(renamed), eventSecretOf(eventSecret), trigger("smoke", production))
	body := payload(t, "deployment_status")
	got := u.take(deliver("deployment_status", body))
	suites := u.suites()
	if len(got.Results) != 1 || len(suites) != 1 || got.Results[0].CreatedSuiteID != suites[0].Name {
		t.Fatalf("got %+v and %d Suites", got, len(suites))
	}
	want := v1alpha1.Deployment{
		Branch: "main", SHA: sha, Type: "production", URL: "https://shop.example.com", HostingService: v1alpha1.GitHub,
		CommitURL: "https://github.com/acme/shop/commit/" + sha, Repository: "acme/shop",
	}
	if got := suites[0].Spec.Deployment; got != want {
		t.Errorf("the deployment is %+v, want %+v", got, want)
	}
	if at := suites[0].Annotations[v1alpha1.AnnotationDeployedAt]; at != "2026-11-20T12:00:00Z" {
		t.Errorf("it was deployed at %q", at)
	}
	for _, says := range []string{`"event":"acme/github"`, `"eventType":"deployment_status"`, `"delivery":"72d3162e-cc78-11e3-81ab-4c9367dc0958"`, `"created":1`} {
		if !strings.Contains(u.audit.String(), says) {
			t.Errorf("the audit line lacks %s: %s", says, u.audit)
		}
	}
	if len(u.used) != 1 || u.used[0] != "acme/github" {
		t.Errorf("used: %v", u.used)
	}
	for range 3 { // GitHub's button, or another replica
		again := u.take(deliver("deployment_status", body))
		if len(again.Results) != 1 || again.Results[0].DuplicateSuiteID != suites[0].Name {
			t.Errorf("delivered again: %+v", again)
		}
	}
	if n := len(u.suites()); n != 1 {
		t.Errorf("%d Suites", n)
	}
}

// TestRedeliveryOfAFailedRun: a delivery that is sent again is no wish for another attempt, whatever the Trigger says of duplicates.
func TestRedeliveryOfAFailedRun(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesRerunUnsuccessful }))
	body := payload(t, "deployment_status")
	u.take(deliver("deployment_status", body))
	u.end(v1alpha1.Failed("Exit code 1."))
	if got := u.take(deliver("deployment_status", body)); len(u.suites()) != 1 || got.Results[0].DuplicateSuiteID == "" {
		t.Errorf("delivered again: %+v", got)
	}
	later := payload(t, "deployment_status", "2099162", "2099999")
	if got := u.take(deliver("deployment_status", later)); len(u.suites()) != 2 || got.Results[0].CreatedSuiteID == "" {
		t.Errorf("another deployment of the commit: %+v", got)
	}
}

// end ends all runs.
func (u *hub) end(c metav1.Condition) {
	u.t.Helper()
	for _, s := range u.suites() {
		s.Status.Conditions = []metav1.Condition{c}
		if err := u.cluster.Status().Update(context.Background(), &s); err != nil {
			u.t.Fatal(err)
		}
	}
}

func TestEventsThatStartNothing(t *testing.T) {
	reported := func(s *v1alpha1.Suite) {
		s.UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
		s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitHub, Repository: "acme/shop", CheckID: 900123}
	}
	passed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("Exit code 0.")} }
	failed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")} }
	page := func(s *v1alpha1.Suite) string {
		return "https://postflight.example.com/runs/" + namespace + "/" + s.Name
	}
	own := earlier("smoke-own", "production", func(s *v1alpha1.Suite) { reported(s); passed(s) })
	const log = "https://github.com/acme/shop/actions/runs/6510844/job/17684"
	cases := map[string]struct {
		reason string
		source func(*v1alpha1.EventSource)
		runs   []client.Object
		now    time.Duration // after noon
		kind   string
		body   []byte
		says   string
	}{
		"ping":         {reason: "it is the first event", kind: "ping", body: payload(t, "ping"), says: "right secret"},
		"push":         {reason: "the webhook sends everything", kind: "push", body: payload(t, "ping"), says: "the type push"},
		"a failed one": {reason: "there is nothing to test", kind: "deployment_status", body: payload(t, "deployment_status", `"success"`, `"failure"`), says: `"failure"`},
		"of our App":   {reason: "the manager posted it", kind: "deployment_status", body: payload(t, "deployment_status", "15368", "88001"), says: "itself"},
		"of our token": {reason: "a token has no id, but the run has a page", runs: []client.Object{own}, kind: "deployment_status",
			body: payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`, log, page(own)), says: "smoke-own"},
		"of our token, without a public URL": {reason: "the text is that of the run", runs: []client.Object{own}, kind: "deployment_status",
			body: payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`,
				`"description": ""`, `"description": "`+report.DeploymentDescription(own)+`"`), says: "smoke-own"},
		"an old one": {reason: "it may not be what is deployed now", now: 61 * time.Minute, kind: "deployment_status", body: payload(t, "deployment_status"), says: "more than an hour old"},
		"older than what is deployed": {reason: "it must not supersede it", now: 10 * time.Minute, kind: "deployment_status", body: payload(t, "deployment_status"),
			runs: []client.Object{earlier("smoke-newer", "production", func(s *v1alpha1.Suite) {
				s.Spec.Deployment = v1alpha1.Deployment{SHA: strings.Repeat("f", 40), Type: "Production", Repository: "Acme/Shop", HostingService: v1alpha1.GitHub}
				s.Spec.ReceivedAt = new(metav1.NewMicroTime(noon.Add(5 * time.Minute)))
				s.CreationTimestamp = metav1.NewTime(noon.Add(5 * time.Minute))
			})}, says: "smoke-newer"},
		"another repository": {reason: "the team does not list it", source: func(s *v1alpha1.EventSource) { s.Spec.Repositories = []string{"acme/docs"} },
			kind: "deployment_status", body: payload(t, "deployment_status"), says: "does not list"},
		"a check of a run of another team": {reason: "there is none here", kind: "check_run", body: payload(t, "check_run"), says: "No run of the team"},
		"a check of another repository": {reason: "the run was reported elsewhere", runs: []client.Object{earlier("smoke-1", "production", func(s *v1alpha1.Suite) {
			reported(s)
			failed(s)
			s.Status.Report.Repository = "acme/docs"
		})}, kind: "check_run", body: payload(t, "check_run"), says: "No run of the team"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			change := tc.source
			if change == nil {
				change = func(*v1alpha1.EventSource) {}
			}
			var objects []client.Object
			for _, o := range tc.runs {
				objects = append(objects, o.DeepCopyObject().(client.Object))
			}
			u := startHub(t, append(objects, source(change), eventSecretOf(eventSecret), trigger("smoke"), environmentNamed("production"))...)
			u.clock.now = noon.Add(tc.now)
			before := len(u.suites())
			got := u.take(deliver(tc.kind, tc.body))
			if !strings.Contains(got.Ignored, tc.says) || len(got.Results)+len(got.Repeats) > 0 || len(u.suites()) != before {
				t.Errorf("%s: got %+v, want it to be ignored with %q", tc.reason, got, tc.says)
			}
			if !strings.Contains(u.audit.String(), `"ignored":"`) {
				t.Errorf("the audit line does not say so: %s", u.audit)
			}
		})
	}
}

// earlier is a run of the commit.
func earlier(name, environment string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"}, Environment: environment, Attempt: 1,
			Deployment: v1alpha1.Deployment{SHA: sha, Branch: "main"},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// TestForgedPosts: who writes our link or text into a deployment that nobody tested does not keep it from being tested.
func TestForgedPosts(t *testing.T) {
	const log = "https://github.com/acme/shop/actions/runs/6510844/job/17684"
	linked := payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`, log, "https://postflight.example.com/runs/acme/smoke-1")
	cases := map[string]struct {
		reason string
		run    *v1alpha1.Suite
	}{
		"no run":            {"the link leads nowhere", nil},
		"another commit":    {"that commit was tested, not this one", earlier("smoke-1", "production", func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat("e", 40) })},
		"another place":     {"it was tested elsewhere", earlier("smoke-1", "staging")},
		"a run that failed": {"Postflight posts no success of it", earlier("smoke-1", "production", func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")} })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{source(), eventSecretOf(eventSecret), trigger("other"), environmentNamed("production")}
			if tc.run != nil {
				objects = append(objects, tc.run)
			}
			u := startHub(t, objects...)
			if got := u.take(deliver("deployment_status", linked)); len(got.Results) != 1 || got.Results[0].CreatedSuiteID == "" {
				t.Errorf("%s: got %+v, want a run", tc.reason, got)
			}
		})
	}
}

// TestRerunButton: the button makes the next attempt once, however often its event is delivered.
func TestRerunButton(t *testing.T) {
	run := func(name, trigger, uid string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return earlier(name, "staging", append(change, func(s *v1alpha1.Suite) {
			s.UID, s.Spec.Trigger = clientUID(uid), v1alpha1.TriggerReference{Name: trigger, UID: clientUID("uid-" + trigger)}
			s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
			s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitHub, Repository: "acme/shop", CheckID: 900123}
		})...)
	}
	const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"), trigger("e2e"), run("smoke-1", "smoke", uid), run("e2e-1", "e2e", "another"))
	one := u.take(deliver("check_run", payload(t, "check_run")))
	if len(one.Repeats) != 1 || one.Repeats[0].RunID != "smoke-1" || !one.Repeats[0].Created || len(u.suites()) != 3 {
		t.Fatalf("the button of one check: %+v", one)
	}
	next := one.Repeats[0].NextRunID
	var attempt v1alpha1.Suite
	if err := u.cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: next}, &attempt); err != nil {
		t.Fatal(err)
	}
	if attempt.Spec.Attempt != 2 || attempt.Annotations[v1alpha1.AnnotationRerunBy] != "GitHub: ann-lee" {
		t.Errorf("attempt %d by %q", attempt.Spec.Attempt, attempt.Annotations[v1alpha1.AnnotationRerunBy])
	}
	if again := u.take(deliver("check_run", payload(t, "check_run"))); again.Repeats[0].NextRunID != next || again.Repeats[0].Created || len(u.suites()) != 3 {
		t.Errorf("delivered again: %+v", again)
	}
	// The attempt is of a time after the event, as on a real API server.
	attempt.CreationTimestamp = metav1.NewTime(noon.Add(10 * time.Minute))
	if err := u.cluster.Update(t.Context(), &attempt); err != nil {
		t.Fatal(err)
	}
	for i, created := range []bool{true, false, false} { // the attempt of smoke exists already
		all := u.take(deliver("check_suite", payload(t, "check_suite")))
		if len(all.Repeats) != 2 || all.Repeats[0].RunID != "e2e-1" || all.Repeats[0].Created != created || all.Repeats[1].NextRunID != next || len(u.suites()) != 4 {
			t.Errorf("delivery %d of the button of all checks: %+v, and %d Suites", i+1, all, len(u.suites()))
		}
		u.end(v1alpha1.Failed("Exit code 1."))
	}
}

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
		"another secret":                {"somebody else has signed it", header("X-Hub-Signature-256", signature("another secret of 26 bytes", good)), good, 401, "invalid_signature"},
		"of another body":               {"it was changed", header("X-Hub-Signature-256", signature(eventSecret, append([]byte(" "), good...))), good, 401, "invalid_signature"},
		"to the App, signed for a team": {"a team does not speak for all", to(appPath), good, 401, "invalid_signature"},
		"a form":                        {"the signature is of the form", header("Content-Type", "application/x-www-form-urlencoded"), good, 415, "unsupported_media_type"},
		"compressed":                    {"it could be of any size", header("Content-Encoding", "gzip"), good, 415, "unsupported_media_type"},
		"by GET":                        {"events are posted", func(r *http.Request) { r.Method = http.MethodGet }, good, 405, "method_not_allowed"},
		"too large":                     {"events are smaller", func(*http.Request) {}, append(bytes.Repeat([]byte(" "), 512<<10), good...), 413, "body_too_large"},
		"too large, of unknown length":  {"events are smaller", func(r *http.Request) { r.ContentLength = -1 }, append(bytes.Repeat([]byte(" "), 512<<10), good...), 413, "body_too_large"},
		"a member twice":                {"readers disagree which one counts", func(*http.Request) {}, bytes.Replace(good, []byte(`"sha":`), []byte(`"sha":"x","sha":`), 1), 400, "invalid_body"},
		"a hostile branch":              {"it would start a line of a log", func(*http.Request) {}, payload(t, "deployment_status", `"ref": "main"`, `"ref": "main\n::error::"`), 400, "invalid_body"},
		"suspended":                     {"the operator wants that", to("/api/events/stopped/github"), good, 403, "team_suspended"},
	}
	suspended := team("stopped")
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
			u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"), suspended.DeepCopy(), elsewhere.DeepCopy(), short.DeepCopy(),
				named("unready", "missing", v1alpha1.EventsOfGitHub), named("short", "short", v1alpha1.EventsOfGitHub), named("gitea", "postflight-events", "Gitea"),
				source(func(s *v1alpha1.EventSource) { s.Name = "app" }, ofApp), source(func(s *v1alpha1.EventSource) { s.Namespace = "stopped" }))
			u.validate = tc.status != 413 || tc.body != nil
			w := u.exchange(deliver("deployment_status", tc.body, tc.change))
			var got problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != tc.status || got.FailureCode != tc.code {
				t.Errorf("%s: %d %s, want %d %s", tc.reason, w.Code, w.Body, tc.status, tc.code)
			}
			if tc.code == "not_found" && got.Detail != errNoEvents.message {
				t.Errorf("the answer differs from that of others: %s", got.Detail)
			}
			if n := len(u.suites()); n != 0 {
				t.Errorf("%d Suites", n)
			}
			if u.unverified.left.Load() != u.Limits.UnverifiedBytes {
				t.Errorf("%d bytes are not given back", u.Limits.UnverifiedBytes-u.unverified.left.Load())
			}
		})
	}
}

// TestEventsAreOff: an installation without EventSources and without an App answers as one that does not know the path.
func TestEventsAreOff(t *testing.T) {
	h := start(t, setup{objects: acme()})
	for _, path := range []string{appPath, sourcePath} {
		w := h.exchange(deliver("ping", payload(t, "ping"), func(r *http.Request) { r.URL.Path = path }))
		if got := decode[problem](t, w); w.Code != http.StatusNotFound || got.Detail != errNoEvents.message {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestAppEvents: an event of the App counts for the teams whose operator lists the repository, and that want events.
func TestAppEvents(t *testing.T) {
	listing := func(name string, suspended bool, repositories ...string) *v1alpha1.Team {
		team := team(name)
		team.Spec.Repositories, team.Spec.Suspended = repositories, suspended
		return team
	}
	in := func(namespace string) func(*v1alpha1.EventSource) {
		return func(s *v1alpha1.EventSource) { s.Namespace, s.Spec.Secret = namespace, nil }
	}
	objects := []client.Object{}
	for _, name := range []string{"shop", "web", "docs", "labs", "idle", "gone"} {
		there := trigger("smoke-" + name)
		there.Namespace = name
		env := environmentNamed("staging")
		env.Namespace, env.UID = name, clientUID("uid-staging-"+name)
		objects = append(objects, there, env)
	}
	objects = append(objects,
		listing("shop", false, "github.com/acme/shop"), source(in("shop")), source(in("shop"), func(s *v1alpha1.EventSource) { s.Name = "second" }),
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
	for _, s := range u.suites() {
		found[s.Namespace] = s.Spec.Deployment.Type
	}
	if len(got.Results) != 2 || len(found) != 2 || found["shop"] != "Production" || found["web"] != "production" {
		t.Errorf("got %+v and the runs %v, want one in shop and one in web", got, found)
	}
	for _, says := range []string{`"team":"shop","event":"shop/github"`, `"team":"web","event":"web/github"`} {
		if !strings.Contains(u.audit.String(), says) {
			t.Errorf("no audit line has %s: %s", says, u.audit)
		}
	}
	unknown := payload(t, "deployment_status", "acme/shop", "other/shop")
	if got := u.take(deliver("deployment_status", unknown, toApp(unknown))); !strings.Contains(got.Ignored, "No team") || len(u.suites()) != 2 {
		t.Errorf("of an unknown repository: %+v", got)
	}
	ping := payload(t, "ping")
	if got := u.take(deliver("ping", ping, toApp(ping))); !strings.Contains(got.Ignored, "right secret") {
		t.Errorf("ping: %+v", got)
	}
}

// TestStalledEvents: bodies of strangers that never come whole take a bounded amount of memory, and no more.
func TestStalledEvents(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"))
	u.unverified = newByteBudget(3 * eventChunk)
	body := payload(t, "deployment_status")
	from, stalled := io.Pipe()
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		w := httptest.NewRecorder()
		u.ServeHTTP(w, deliver("deployment_status", body, func(r *http.Request) { r.Body, r.ContentLength = from, -1 }))
		answered <- w
	}()
	if _, err := stalled.Write(bytes.Repeat([]byte(" "), eventChunk+1)); err != nil { // returns when it was read
		t.Fatal(err)
	}
	if w := u.exchange(deliver("deployment_status", body)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("beside a stalled one: %d %s", w.Code, w.Body)
	}
	_ = stalled.CloseWithError(io.ErrUnexpectedEOF)
	if w := <-answered; w.Code != http.StatusBadRequest {
		t.Errorf("the stalled one: %d %s", w.Code, w.Body)
	}
	if got := u.take(deliver("deployment_status", body)); len(got.Results) != 1 {
		t.Errorf("after it: %+v", got)
	}
}

// TestSenderHangsUp: GitHub waits for ten seconds, and sends nothing again. The API server comes back later.
func TestSenderHangsUp(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"))
	ctx, hangUp := context.WithCancel(t.Context())
	failures := 0
	u.Dispatcher.Writer = interceptor.NewClient(u.cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if failures++; failures < 5 {
				hangUp()
				return errRefused
			}
			return c.Create(ctx, o, opts...)
		},
	})
	u.exchange(deliver("deployment_status", payload(t, "deployment_status"), func(r *http.Request) { *r = *r.WithContext(ctx) }))
	if n := len(u.suites()); n != 1 || failures != 5 {
		t.Errorf("%d Suites after %d attempts", n, failures)
	}
	if line := u.audit.String(); !strings.Contains(line, `"code":499`) || !strings.Contains(line, `"created":1`) {
		t.Errorf("audit: %s", line)
	}
}

// TestEventDuringAnOutage: the sender learns that the event failed, so that it is delivered again.
func TestEventDuringAnOutage(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"))
	u.Dispatcher.Writer = interceptor.NewClient(u.cluster, interceptor.Funcs{Create: refuse(errRefused)})
	if w := u.exchange(deliver("deployment_status", payload(t, "deployment_status"))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	u.Dispatcher.Writer = u.cluster
	if got := u.take(deliver("deployment_status", payload(t, "deployment_status"))); len(got.Results) != 1 || got.Results[0].CreatedSuiteID == "" {
		t.Errorf("delivered again: %+v", got)
	}
}
