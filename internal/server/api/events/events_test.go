package events_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
)

// TestDeploymentStatus: a deployment that has succeeded starts the run that a notification with the same values would start.
func TestDeploymentStatus(t *testing.T) {
	u := startHub(t, source(renamed), eventSecretOf(eventSecret), apitest.Trigger("smoke", production))
	body := payload(t, "deployment_status")
	got := u.take(deliver("deployment_status", body))
	suites := u.Suites()
	if len(got.Results) != 1 || len(suites) != 1 || got.Results[0].CreatedSuiteID != suites[0].Name {
		t.Fatalf("got %+v and %d Suites", got, len(suites))
	}
	want := v1alpha1.Deployment{
		Branch: "main", SHA: apitest.SHA, Type: "production", URL: "https://shop.example.com", HostingService: v1alpha1.GitHub,
		CommitURL: "https://github.com/acme/shop/commit/" + apitest.SHA, Repository: "acme/shop",
	}
	if got := suites[0].Spec.Deployment; got != want {
		t.Errorf("the deployment is %+v, want %+v", got, want)
	}
	if at := suites[0].Spec.DeployedAt; at == nil || at.UTC().Format(time.RFC3339) != "2026-11-20T12:00:00Z" ||
		suites[0].Spec.Origin != v1alpha1.OriginEvent {
		t.Errorf("it was deployed at %v, by %s", at, suites[0].Spec.Origin)
	}
	for _, says := range []string{`"event":"acme/github"`, `"eventType":"deployment_status"`,
		`"delivery":"72d3162e-cc78-11e3-81ab-4c9367dc0958"`, `"created":1`} {
		if !strings.Contains(u.Audit.String(), says) {
			t.Errorf("the audit line lacks %s: %s", says, u.Audit)
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
	if n := len(u.Suites()); n != 1 {
		t.Errorf("%d Suites", n)
	}
}

// TestRedeliveryOfAFailedRun: a delivery that is sent again is no wish for another attempt, whatever the Trigger says of duplicates.
func TestRedeliveryOfAFailedRun(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret),
		apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesRerunUnsuccessful }))
	body := payload(t, "deployment_status")
	u.take(deliver("deployment_status", body))
	u.end(v1alpha1.Failed("Exit code 1."))
	if got := u.take(deliver("deployment_status", body)); len(u.Suites()) != 1 || got.Results[0].DuplicateSuiteID == "" {
		t.Errorf("delivered again: %+v", got)
	}
	later := payload(t, "deployment_status", "2099162", "2099999")
	if got := u.take(deliver("deployment_status", later)); len(u.Suites()) != 2 || got.Results[0].CreatedSuiteID == "" {
		t.Errorf("another deployment of the commit: %+v", got)
	}
}

// end ends all runs.
func (u *hub) end(c metav1.Condition) {
	u.T.Helper()
	for _, s := range u.Suites() {
		s.Status.Conditions = []metav1.Condition{c}
		if err := u.Cluster.Status().Update(context.Background(), &s); err != nil {
			u.T.Fatal(err)
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
		return "https://postflight.example.com/runs/" + apitest.Namespace + "/" + s.Name
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
		"ping": {reason: "it is the first event", kind: "ping", body: payload(t, "ping"), says: "right secret"},
		"push": {reason: "the webhook sends everything", kind: "push", body: payload(t, "ping"), says: "the type push"},
		"a failed one": {reason: "there is nothing to test", kind: "deployment_status",
			body: payload(t, "deployment_status", `"success"`, `"failure"`), says: `"failure"`},
		"of our App": {reason: "the manager posted it", kind: "deployment_status", body: payload(t, "deployment_status", "15368", "88001"),
			says: "itself"},
		"of our token": {reason: "a token has no id, but the run has a page", runs: []client.Object{own}, kind: "deployment_status",
			body: payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`, log, page(own)), says: "smoke-own"},
		"of our token, without a public URL": {reason: "the text is that of the run", runs: []client.Object{own}, kind: "deployment_status",
			body: payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`,
				`"description": ""`, `"description": "`+report.DeploymentDescription(own)+`"`), says: "smoke-own"},
		"an old one": {reason: "it may not be what is deployed now", now: 61 * time.Minute, kind: "deployment_status",
			body: payload(t, "deployment_status"), says: "more than an hour old"},
		"older than what is deployed": {reason: "it must not supersede it", now: 10 * time.Minute, kind: "deployment_status",
			body: payload(t, "deployment_status"),
			runs: []client.Object{earlier("smoke-newer", "production", func(s *v1alpha1.Suite) {
				s.Spec.Deployment = v1alpha1.Deployment{SHA: strings.Repeat("f", 40), Type: "Production", Repository: "Acme/Shop",
					HostingService: v1alpha1.GitHub}
				s.Spec.ReceivedAt = new(metav1.NewMicroTime(apitest.Noon.Add(5 * time.Minute)))
				s.CreationTimestamp = metav1.NewTime(apitest.Noon.Add(5 * time.Minute))
			})}, says: "smoke-newer"},
		"another repository": {reason: "the team does not list it",
			source: func(s *v1alpha1.EventSource) { s.Spec.Repositories = []string{"acme/docs"} },
			kind:   "deployment_status", body: payload(t, "deployment_status"), says: "does not list"},
		"a job that deploys nothing": {reason: "the team lists the jobs that do",
			source: func(s *v1alpha1.EventSource) {
				s.Spec.Deployments = &v1alpha1.EventDeployments{DeploymentMakers: v1alpha1.DeploymentMakers{Jobs: []string{"deploy"}}}
			},
			kind: "deployment_status", body: payload(t, "deployment_status", `"name": "deploy"`, `"name": "read secrets"`),
			says: `The job "read secrets" of the workflow "read secrets"`},
		"a deployment that waits": {reason: "the team decides about none", kind: "deployment_protection_rule",
			body: payload(t, "deployment_protection_rule"), says: "No DeploymentGate of the team"},
		"a check of a run of another team": {reason: "there is none here", kind: "check_run", body: payload(t, "check_run"),
			says: "No run of the team"},
		"a check of another repository": {reason: "the run was reported elsewhere",
			runs: []client.Object{earlier("smoke-1", "production", func(s *v1alpha1.Suite) {
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
			u := startHub(t, append(objects, source(change), eventSecretOf(eventSecret), apitest.Trigger("smoke"),
				apitest.EnvironmentNamed("production"))...)
			u.Clock.Time = apitest.Noon.Add(tc.now)
			before := len(u.Suites())
			got := u.take(deliver(tc.kind, tc.body))
			if !strings.Contains(got.Ignored, tc.says) || len(got.Results)+len(got.Repeats) > 0 || len(u.Suites()) != before {
				t.Errorf("%s: got %+v, want it to be ignored with %q", tc.reason, got, tc.says)
			}
			if !strings.Contains(u.Audit.String(), `"ignored":"`) {
				t.Errorf("the audit line does not say so: %s", u.Audit)
			}
		})
	}
}

// TestJob: the answer and the audit line name what deployed, whether a Trigger matches or not, and expressions can ask for it.
func TestJob(t *testing.T) {
	for name, tc := range map[string]struct {
		expression string
		results    int
	}{
		"of the job":            {`notification.job == "deploy" && notification.workflow == "deploy" && notification.task == "deploy"`, 1},
		"of another job":        {`notification.job != "deploy"`, 0},
		"of any job":            {`has(notification.job)`, 1},
		"of another workflow":   {`notification.workflow.startsWith("release")`, 0},
		"of tasks of no Action": {`notification.task != "deploy"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := startHub(t, source(), eventSecretOf(eventSecret), apitest.EnvironmentNamed("production"),
				apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = tc.expression }))
			u.Clock.Time = apitest.Noon
			got := u.take(deliver("deployment_status", payload(t, "deployment_status")))
			if len(got.Results) != tc.results || got.Job != "deploy" || got.Workflow != "deploy" || got.Task != "deploy" {
				t.Errorf("got %+v", got)
			}
			if !strings.Contains(u.Audit.String(), `"job":"deploy"`) {
				t.Errorf("the audit line does not name the job: %s", u.Audit)
			}
		})
	}
}

// earlier is a run of the commit.
func earlier(name, environment string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name,
			CreationTimestamp: metav1.NewTime(apitest.Noon.Add(-time.Minute))},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"}, Environment: environment, Attempt: 1,
			Deployment: v1alpha1.Deployment{SHA: apitest.SHA, Branch: "main"},
		},
	}, change...)
}

// TestEventsListFewRuns: an event of one repository lists no runs of others.
func TestEventsListFewRuns(t *testing.T) {
	other := earlier("other", "production", func(s *v1alpha1.Suite) {
		s.Spec.Deployment = v1alpha1.Deployment{SHA: strings.Repeat("e", 40), Type: "Production", Repository: "acme/docs",
			HostingService: v1alpha1.GitHub}
	})
	u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"), apitest.EnvironmentNamed("production"), other)
	lists := 0
	u.Events.Cache = interceptor.NewClient(u.Cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if runs, ok := list.(*v1alpha1.SuiteList); ok {
				if lists++; len(runs.Items) > 0 {
					t.Errorf("%d runs are listed", len(runs.Items))
				}
			}
			return err
		},
	})
	if got := u.take(deliver("deployment_status", payload(t, "deployment_status"))); len(got.Results) != 1 || lists != 3 {
		t.Errorf("got %+v after %d lists", got, lists)
	}
}

// TestForgedPosts: who writes our link or text into a deployment that nobody tested does not keep it from being tested.
func TestForgedPosts(t *testing.T) {
	const log = "https://github.com/acme/shop/actions/runs/6510844/job/17684"
	linked := payload(t, "deployment_status", `"environment": "Production"`, `"environment": "production"`, log,
		"https://postflight.example.com/runs/acme/smoke-1")
	cases := map[string]struct {
		reason string
		run    *v1alpha1.Suite
	}{
		"no run": {"the link leads nowhere", nil},
		"another commit": {"that commit was tested, not this one",
			earlier("smoke-1", "production", func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat("e", 40) })},
		"another place": {"it was tested elsewhere", earlier("smoke-1", "staging")},
		"a run that failed": {"Postflight posts no success of it",
			earlier("smoke-1", "production", func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")} })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{source(), eventSecretOf(eventSecret), apitest.Trigger("other"), apitest.EnvironmentNamed("production")}
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
	u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"), apitest.Trigger("e2e"), run("smoke-1", "smoke", uid),
		run("e2e-1", "e2e", "another"))
	one := u.take(deliver("check_run", payload(t, "check_run")))
	if len(one.Repeats) != 1 || one.Repeats[0].RunID != "smoke-1" || !one.Repeats[0].Created || len(u.Suites()) != 3 {
		t.Fatalf("the button of one check: %+v", one)
	}
	next := one.Repeats[0].NextRunID
	var attempt v1alpha1.Suite
	if err := u.Cluster.Get(t.Context(), client.ObjectKey{Namespace: apitest.Namespace, Name: next}, &attempt); err != nil {
		t.Fatal(err)
	}
	if attempt.Spec.Attempt != 2 || attempt.Annotations[v1alpha1.AnnotationRerunBy] != "GitHub: ann-lee" {
		t.Errorf("attempt %d by %q", attempt.Spec.Attempt, attempt.Annotations[v1alpha1.AnnotationRerunBy])
	}
	if again := u.take(deliver("check_run", payload(t, "check_run"))); again.Repeats[0].NextRunID != next || again.Repeats[0].Created ||
		len(u.Suites()) != 3 {
		t.Errorf("delivered again: %+v", again)
	}
	// The attempt is of a time after the event, as on a real API server.
	attempt.CreationTimestamp = metav1.NewTime(apitest.Noon.Add(10 * time.Minute))
	if err := u.Cluster.Update(t.Context(), &attempt); err != nil {
		t.Fatal(err)
	}
	for i, created := range []bool{true, false, false} { // the attempt of smoke exists already
		all := u.take(deliver("check_suite", payload(t, "check_suite")))
		if len(all.Repeats) != 2 || all.Repeats[0].RunID != "e2e-1" || all.Repeats[0].Created != created || all.Repeats[1].NextRunID != next ||
			len(u.Suites()) != 4 {
			t.Errorf("delivery %d of the button of all checks: %+v, and %d Suites", i+1, all, len(u.Suites()))
		}
		u.end(v1alpha1.Failed("Exit code 1."))
	}
}
