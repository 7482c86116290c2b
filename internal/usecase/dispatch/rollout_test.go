package dispatch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// rolledOut makes a notification that of a rollout of a commit, which completes now. The workloads had another one before, unless it was
// the first.
func (h *harness) rolledOut(sha string) func(*Request) {
	h.t.Helper()
	key := v1alpha1.RolloutKeyPrefix + h.clock.Now().String()
	e := h.environments()["staging"]
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "web"}}
	is := v1alpha1.Deployed{SHA: sha, Since: new(metav1.NewTime(h.clock.Now())), Workloads: []v1alpha1.DeployedWorkload{{Name: "web"}}}
	if len(e.Status.Deployed) > 0 {
		is.Previous = &v1alpha1.PreviousDeployment{SHA: e.Status.Deployed[0].SHA, Since: e.Status.Deployed[0].Since}
	}
	e.Status.Deployed = []v1alpha1.Deployed{is}
	if err := h.cluster.Update(h.t.Context(), &e); err != nil {
		h.t.Fatal(err)
	}
	return func(r *Request) { r.IdempotencyKey, r.Origin = key, FromRollout("staging") }
}

// elsewhere is a Dispatcher of another replica, whose cache has no Suites yet.
func (h *harness) elsewhere() *harness {
	h.t.Helper()
	other := *h
	config := h.Config
	e := h.environments()["staging"]
	e.ResourceVersion = ""
	config.Cache = start(h.t, setup{objects: []client.Object{team(namespace), &e, trigger("other")}}).cluster
	d, err := New(config)
	if err != nil {
		h.t.Fatal(err)
	}
	other.Dispatcher = d
	return &other
}

// The ways in which a step arrives.
const first, again, other, ci = "first", "again", "again, by another replica", "CI"

// step is a notification, and how its run ends before the next step.
type step struct{ how, body, end string }

// play makes notifications a minute after each other, for the Trigger smoke: those of CI, and of an origin that makes a new one of a body.
// It returns a letter for each decision, as TestDuplicates has, and the runs.
func (h *harness) play(steps []step, newNotification func(body string) func(*Request)) (letters string, runs map[string]bool) {
	h.t.Helper()
	runs = map[string]bool{}
	latest := func(*Request) {}
	for i, s := range steps {
		h.clock.SetTime(noon.Add(time.Duration(i+1) * time.Minute))
		from := h
		switch s.how {
		case other:
			from = h.elsewhere()
		case first:
			latest = newNotification(s.body)
		}
		change := latest
		if s.how == ci {
			change = func(*Request) {}
		}
		results := from.notify(s.body, change).Triggers
		if s.how != ci && len(results) != 1 {
			h.t.Fatalf("%d Triggers are notified", len(results))
		}
		smoke := results[slices.IndexFunc(results, func(r TriggerResult) bool { return r.Trigger == "smoke" })]
		letters += letter(smoke)
		runs[smoke.SuiteID] = true
		h.finish(smoke.SuiteID, "", s.end)
	}
	return letters, runs
}

// TestRollouts: a rollout is a deployment, however often it is notified.
func TestRollouts(t *testing.T) {
	const a, b, c = `{"sha":"a"}`, `{"sha":"b"}`, `{"sha":"c"}`
	const passed, failed, superseded, canceled, broken = "Passed", "Failed", "Superseded", "Canceled", "Error"
	for name, tc := range map[string]struct {
		reason string
		policy v1alpha1.DuplicatePolicy
		steps  []step
		want   string
	}{
		"rollbacks":                        {"each is a deployment", v1alpha1.DuplicatesCommit, []step{{first, a, passed}, {first, b, passed}, {first, a, passed}, {first, b, ""}}, "cccc"},
		"rollback while the others run":    {"nobody supersedes yet", v1alpha1.DuplicatesCommit, []step{{first, a, ""}, {first, b, ""}, {first, a, ""}}, "ccc"},
		"rollback, superseding":            {"what was superseded is deployed again", v1alpha1.DuplicatesCommit, []step{{first, a, superseded}, {first, b, superseded}, {first, a, ""}}, "ccc"},
		"the same, while superseding":      {"the older rollout is not newer than b", v1alpha1.DuplicatesCommit, []step{{first, a, superseded}, {ci, b, ""}, {again, a, ""}, {other, a, ""}}, "ccdd"},
		"the same":                         {"its run continues", v1alpha1.DuplicatesCommit, []step{{first, a, ""}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same, passed":                 {"it has a run", v1alpha1.DuplicatesDeployment, []step{{first, a, passed}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same, failed":                 {"one rollout is no retry", v1alpha1.DuplicatesRerunUnsuccessful, []step{{first, a, failed}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same, canceled":               {"somebody does not want it", v1alpha1.DuplicatesCommit, []step{{first, a, canceled}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same, could not run":          {"one rollout is no retry", v1alpha1.DuplicatesCommit, []step{{first, a, broken}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same rollback":                {"the second attempt is its run", v1alpha1.DuplicatesCommit, []step{{first, a, passed}, {first, b, passed}, {first, a, failed}, {again, a, ""}, {other, a, ""}}, "cccdd"},
		"CI before":                        {"the rollout follows it", v1alpha1.DuplicatesCommit, []step{{ci, a, ""}, {first, a, ""}, {again, a, ""}}, "cdd"},
		"CI before, passed":                {"the rollout follows it", v1alpha1.DuplicatesDeployment, []step{{ci, a, passed}, {first, a, ""}}, "cd"},
		"CI before, with a URL":            {"a rollout has none, and differs in nothing", v1alpha1.DuplicatesDeployment, []step{{ci, `{"sha":"a","deployment_url":"https://blue"}`, ""}, {first, a, ""}}, "cd"},
		"CI before, failed":                {"the Trigger repeats that, once", v1alpha1.DuplicatesRerunUnsuccessful, []step{{ci, a, failed}, {first, a, failed}, {again, a, ""}}, "ccd"},
		"CI before each":                   {"also before a rollback", v1alpha1.DuplicatesDeployment, []step{{ci, a, passed}, {first, a, ""}, {ci, b, passed}, {first, b, ""}, {ci, a, passed}, {first, a, ""}}, "cdcdcd"},
		"CI before each, of the commit":    {"CI finds the old run, and the rollback does not", v1alpha1.DuplicatesCommit, []step{{ci, a, passed}, {first, a, ""}, {ci, b, passed}, {first, b, ""}, {ci, a, passed}, {first, a, ""}}, "cdcddc"},
		"CI long before":                   {"it notified before the last rollout, and tested what was there then", v1alpha1.DuplicatesCommit, []step{{ci, b, passed}, {first, a, passed}, {first, b, ""}}, "ccc"},
		"CI after":                         {"the run tests it", v1alpha1.DuplicatesCommit, []step{{first, a, ""}, {ci, a, ""}}, "cd"},
		"CI after, passed":                 {"the run tested it", v1alpha1.DuplicatesCommit, []step{{first, a, passed}, {ci, a, ""}}, "cd"},
		"CI after, of each deployment":     {"it says the same", v1alpha1.DuplicatesDeployment, []step{{first, a, passed}, {ci, a, ""}}, "cd"},
		"CI after, with a URL":             {"the commit is the same", v1alpha1.DuplicatesCommit, []step{{first, a, ""}, {ci, `{"sha":"a","deployment_url":"https://blue"}`, ""}}, "cd"},
		"CI after, with a URL that counts": {"a rollout has none, so that CI names another deployment", v1alpha1.DuplicatesDeployment, []step{{first, a, ""}, {ci, `{"sha":"a","deployment_url":"https://blue"}`, ""}}, "cc"},
		"CI between":                       {"it is too early, and the rollouts count", v1alpha1.DuplicatesCommit, []step{{first, a, ""}, {ci, b, passed}, {first, c, ""}, {first, b, ""}}, "cccc"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = tc.policy }))})
			got, runs := h.play(tc.steps, func(body string) func(*Request) { return h.rolledOut(h.request(body).Notification.SHA) })
			if got != tc.want || len(h.suites()) != len(runs) {
				t.Errorf("%s: got %s and %d Suites, want %s", tc.reason, got, len(h.suites()), tc.want)
			}
		})
	}
}

// TestRolloutOfAnEnvironment notifies only its Triggers, and of these only those that match. A client notifies all.
func TestRolloutOfAnEnvironment(t *testing.T) {
	elsewhere := func(t *v1alpha1.Trigger) { t.Spec.Environment = "production" }
	onBranch := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/*"} }
	h := start(t, setup{objects: acme(environmentNamed("production"), trigger("a"), trigger("b", elsewhere), trigger("c"), trigger("d", onBranch))})
	triggersOf := func(r Result) (all []string) {
		for _, t := range r.Triggers {
			all = append(all, t.Trigger)
		}
		return all
	}
	if diff := cmp.Diff([]string{"a", "c"}, triggersOf(h.notify(withSHA, h.rolledOut(sha)))); diff != "" {
		t.Error(diff)
	}
	if n := len(h.suites()); n != 2 {
		t.Errorf("%d Suites", n)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, triggersOf(h.notify(withSHA))); diff != "" {
		t.Errorf("a rollout changed what others match\n%s", diff)
	}
	if got := triggersOf(h.notify(withSHA, func(r *Request) { r.Origin = FromRollout("nightly") })); got != nil {
		t.Errorf("an Environment without Triggers notifies %v", got)
	}
}

// TestThroughAnOutage: the API server fails for a while, in each way, while a rollout or a schedule is notified again and again. It has one
// run.
func TestThroughAnOutage(t *testing.T) {
	for name, creates := range map[string][]fault{
		"refused":         repeat(9, fault{err: refusedConnection}),
		"answer lost":     {{write: true, err: refusedConnection}},
		"no answer":       {{write: true, hang: true}},
		"no answers":      {{hang: true}, {write: true, hang: true}},
		"busy for longer": {{err: tooMany(60)}, {err: tooMany(60)}},
	} {
		for origin, newNotification := range map[string]func(*harness, *v1alpha1.Trigger) func(*Request){
			"rollout":  func(h *harness, _ *v1alpha1.Trigger) func(*Request) { return h.rolledOut(sha) },
			"schedule": func(h *harness, smoke *v1alpha1.Trigger) func(*Request) { return h.scheduled(smoke) },
		} {
			t.Run(origin+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					smoke := trigger("smoke")
					h := start(t, setup{objects: acme(smoke), creates: creates})
					change := newNotification(h, smoke)
					var got []string
					for range 4 {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						result, err := h.dispatchIn(ctx, withSHA, change)
						cancel()
						if err != nil || result.Triggers[0].Decision == Unknown {
							continue
						}
						got = append(got, letter(result.Triggers[0]))
					}
					if n := len(h.suites()); n != 1 || len(got) == 0 || slices.Contains(got[1:], "c") {
						t.Errorf("%d Suites, decisions %v", n, got)
					}
				})
			})
		}
	}
}

// TestRolloutOfOneTriggerThatFails: while the API server does not take the run of one Trigger, that of another ends without success. The
// rollout is notified until both are known, and starts neither twice.
func TestRolloutOfOneTriggerThatFails(t *testing.T) {
	repeats := func(t *v1alpha1.Trigger) {
		t.Spec.Duplicates = v1alpha1.DuplicatesRerunUnsuccessful
		t.Spec.DuplicatesMaxAge = &metav1.Duration{Duration: time.Second}
	}
	refused := true
	h := start(t, setup{objects: acme(trigger("good", repeats), trigger("unlucky", repeats)), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if refused && strings.HasPrefix(o.GetName(), "unlucky") {
				return refusedConnection
			}
			return c.Create(ctx, o, opts...)
		},
	}})
	rollout, got := h.rolledOut(sha), ""
	for i := range 4 {
		refused = i < 2
		for _, r := range h.notify(withSHA, rollout).Triggers {
			got += letter(r)
			h.finish(r.SuiteID, "", "Failed")
		}
		h.clock.Step(time.Minute)
	}
	if want := "cududcdd"; len(h.suites()) != 2 || got != want {
		t.Errorf("%d Suites, %s, want %s", len(h.suites()), got, want)
	}
}
