package dispatch

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/triggerclass"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/test/suites"
)

func TestRerun(t *testing.T) {
	second := func(s *v1alpha1.Suite) { s.Spec.Attempt = 2 }
	newer := run("newer", -1, ofSHA("another"))
	inNoStream := func(s *v1alpha1.Suite) { s.Spec.SupersedeKey, s.Spec.Supersede = "", v1alpha1.SupersedeNone }
	going := func(t *v1alpha1.Trigger) {
		t.Finalizers, t.DeletionTimestamp = []string{"postflight.dev/test"}, &metav1.Time{Time: noon}
	}
	cases := map[string]struct {
		reason  string
		run     *v1alpha1.Suite
		objects []client.Object
		kind    ErrorKind
		says    string
		attempt int32
	}{
		"failed":             {"it has ended", run("r", 1, failed), []client.Object{trigger("smoke")}, "", "", 2},
		"passed":             {"whatever the Trigger says about duplicates: a person wants it", run("r", 1, is(v1alpha1.Passed("0"))), []client.Object{trigger("smoke")}, "", "", 2},
		"the second attempt": {"attempts count on", run("r", 1, failed, second), []client.Object{trigger("smoke")}, "", "", 3},
		"without a SHA":      {"the run identifies the request", run("r", 1, failed, ofSHA("")), []client.Object{trigger("smoke")}, "", "", 2},
		"paused Trigger":     {"a paused Trigger matches nothing, and this is no match", run("r", 1, failed), []client.Object{trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Paused = true })}, "", "", 2},
		"running":            {"it has a result to come", run("r", 1, is(v1alpha1.Running("Tests."))), []client.Object{trigger("smoke")}, RunUnfinished, "Wait for its end", 0},
		"unknown":            {"there is no such run", run("other", 1, failed), []client.Object{trigger("smoke")}, RunNotFound, "", 0},
		"no Trigger":         {"nothing says what to run", run("r", 1, failed), nil, Rejected, `The Trigger "smoke" of the run does not exist`, 0},
		"Trigger goes":       {"the same", run("r", 1, failed), []client.Object{trigger("smoke", going)}, Rejected, `The Trigger "smoke" of the run does not exist`, 0},
		"newer deployment":   {"it would test that", run("r", 1, failed), []client.Object{trigger("smoke"), newer}, Rejected, "another was deployed to staging after 5ca1ab1e. The run newer tests what is there. If 5ca1ab1e is deployed again, say so, and request a rerun: postflight notify --no-detect --rerun --sha " + sha + " --branch main", 0},
		"same commit":        {"another attempt is no newer deployment", run("r", 1, failed), []client.Object{trigger("smoke"), run("again", -1, failed)}, "", "", 2},
		"newer elsewhere":    {"whatever supersedes what, the place has another commit", run("r", 1, failed, inNoStream), []client.Object{trigger("smoke"), run("newer", -1, ofSHA("another"), inNoStream)}, Rejected, "another was deployed to staging", 0},
		"no more attempts":   {"the schema bounds them", run("r", 1, failed, func(s *v1alpha1.Suite) { s.Spec.Attempt = v1alpha1.MaxAttempt }), []client.Object{trigger("smoke")}, Rejected, "is attempt 1000000", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(append(tc.objects, tc.run)...)})
			before := len(h.suites())
			got, created, err := h.Rerun(t.Context(), h.command(), "r")
			if kindOf(err) != tc.kind || created != (tc.kind == "") || !strings.Contains(message(err), tc.says) {
				t.Fatalf("%s: created %v, %v, %s", tc.reason, created, err, message(err))
			}
			if err != nil {
				if n := len(h.suites()); n != before {
					t.Errorf("%s: %d Suites, want %d", tc.reason, n, before)
				}
				return
			}
			if got.Spec.Attempt != tc.attempt || got.Spec.Deployment != tc.run.Spec.Deployment {
				t.Errorf("%s: attempt %d of %+v", tc.reason, got.Spec.Attempt, got.Spec.Deployment)
			}
			if diff := cmp.Diff(tc.run.Spec.Variables, h.suite(got.Name).Spec.Variables); diff != "" {
				t.Errorf("%s: variables: %s", tc.reason, diff)
			}
			if again, created, err := h.Rerun(t.Context(), h.command(), "r"); err != nil || created || again.Name != got.Name {
				t.Errorf("%s: sent again: %v, created %v, want %s", tc.reason, err, created, got.Name)
			}
		})
	}
}

func TestRerunFailed(t *testing.T) {
	tests := func(s *v1alpha1.Suite) {
		s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, OnlyTestsFailed: true}
	}
	elsewhere := func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = "other" }
	r := run("r", 1, failed, tests)
	minTests := func(n int32) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.UID, t.Spec.Results = "uid-smoke", &v1alpha1.Results{MinTests: n} }
	}
	another := func(t *v1alpha1.Trigger) { t.UID = "uid-new" }
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	class.Spec.Results = &v1alpha1.Results{MinTests: 120}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "e2e"}}
	classed := func(t *v1alpha1.Trigger) { t.UID, t.Spec.TriggerClassName = "uid-smoke", class.Name }
	complete, _ := triggerclass.Merge(class, trigger("smoke", classed))
	passed := run("before", 9, is(v1alpha1.Passed("0")), func(s *v1alpha1.Suite) {
		s.Status.Results, s.Status.CompletionTime = &v1alpha1.TestResults{Tests: 120, Passed: 120}, &metav1.Time{Time: noon}
	})
	jobOf := func(t *v1alpha1.Trigger) *batchv1.Job { return suites.JobOf(r, t, environmentNamed("staging")) }
	for name, tc := range map[string]struct {
		reason  string
		run     *v1alpha1.Suite
		trigger *v1alpha1.Trigger
		job     *batchv1.Job // nil: of the Trigger
		others  []client.Object
		says    string
	}{
		"tests failed":             {"the rest passed", r, trigger("smoke", minTests(120)), nil, nil, ""},
		"passed":                   {"there is nothing to repeat", run("r", 1, is(v1alpha1.Passed("0")), tests), trigger("smoke", minTests(120)), nil, nil, "it passed"},
		"timed out":                {"not all ran", run("r", 1, is(v1alpha1.TimedOut("")), tests), trigger("smoke", minTests(120)), nil, nil, "ended as TimedOut"},
		"no reports":               {"nobody knows which failed", run("r", 1, failed), trigger("smoke", minTests(120)), nil, nil, "has no report"},
		"deployed in this stream":  {"the Environment has another version", r, trigger("smoke", minTests(120)), nil, []client.Object{run("newer", -1, ofSHA("another"))}, "The run newer tests what is there"},
		"deployed from elsewhere":  {"the Environment has another version", r, trigger("smoke", minTests(120)), nil, []client.Object{run("newer", -1, ofSHA("another"), elsewhere)}, "The run newer tests what is there"},
		"an older one":             {"it was replaced", r, trigger("smoke", minTests(120)), nil, []client.Object{run("older", 2, ofSHA("another"), elsewhere)}, ""},
		"a Trigger of another UID": {"its tests may be others", r, trigger("smoke", minTests(120), another), nil, nil, "created again"},
		"nothing shows how many":   {"some may not have run", r, trigger("smoke", minTests(0)), nil, nil, "Set results.minTests of the Trigger to their number"},
		"a run passed before":      {"it had as many tests", r, trigger("smoke", minTests(0)), nil, []client.Object{passed}, ""},
		"a run may pass":           {"it may have as many tests", r, trigger("smoke", minTests(0)), nil, []client.Object{run("going", 9, is(v1alpha1.Running("")))}, ""},
		"minTests of the class":    {"the class shows how many", r, trigger("smoke", classed), jobOf(complete), []client.Object{class}, ""},
		"minTests set meanwhile":   {"other things may have changed, too", r, trigger("smoke", minTests(120)), jobOf(trigger("smoke", minTests(0))), nil, "was changed after the run r"},
		"no Job":                   {"nobody knows what ran", r, trigger("smoke", minTests(120)), &batchv1.Job{}, nil, "The Job of the run r is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			j := tc.job
			if j == nil {
				j = jobOf(tc.trigger)
			}
			if j.Name != "" {
				tc.others = append(tc.others, j)
			}
			h := start(t, setup{objects: acme(append(tc.others, tc.trigger, tc.run)...)})
			c := h.command()
			c.OnlyFailed = true
			got, _, err := h.Rerun(t.Context(), c, "r")
			if kindOf(err) == Rejected != (tc.says != "") || !strings.Contains(message(err), tc.says) {
				t.Fatalf("%s: %v %s", tc.reason, err, message(err))
			}
			if err == nil && (got.FailedTestsOf() != "r" || got.Spec.OnlyFailedOf.UID != tc.run.UID) {
				t.Errorf("%s: %+v", tc.reason, got.Spec)
			}
		})
	}
}

// rerun reruns the run r, and returns the id of the next attempt.
func (h *harness) rerun() (id string, created bool) {
	h.t.Helper()
	s, created, err := h.Rerun(h.t.Context(), h.command(), "r")
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Name, created
}

// TestRerunsAtOnce: many requests make one attempt.
func TestRerunsAtOnce(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, is(v1alpha1.Error("No node."))))})
	var all sync.WaitGroup
	var made atomic.Int32
	for range 20 {
		all.Go(func() {
			if _, created := h.rerun(); created {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if n := len(h.suites()); n != 2 || made.Load() != 1 {
		t.Errorf("%d Suites, %d created, want 2, 1", n, made.Load())
	}
}

// TestRerunWhoseAnswerIsLost: the request is sent again, and has created what it finds.
func TestRerunWhoseAnswerIsLost(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, failed)), creates: []fault{{write: true, err: syscall.ECONNRESET}}})
	if _, created := h.rerun(); !created || len(h.suites()) != 2 {
		t.Errorf("created %v, and there are %d Suites; want true, 2", created, len(h.suites()))
	}
}

// TestRerunIsRepeatedAfterANewerDeployment: the answer stays the same, although a new attempt would be refused.
func TestRerunIsRepeatedAfterANewerDeployment(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, failed))})
	want, _ := h.rerun()
	if err := h.cluster.Create(t.Context(), run("newer", -5, ofSHA("another"))); err != nil {
		t.Fatal(err)
	}
	if got, created := h.rerun(); got != want || created {
		t.Errorf("%s, created %v, want %s as before", got, created, want)
	}
}

// TestRerunCannotHaveItsName: the name of the next attempt is taken, by something else or by one that is going.
func TestRerunCannotHaveItsName(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.Suite)
		says   string
	}{
		"another run": {ofSHA("another"), "is not an attempt of this run"},
		"being deleted": {func(s *v1alpha1.Suite) {
			s.Finalizers, s.DeletionTimestamp = []string{"postflight.dev/test"}, &metav1.Time{Time: noon}
		}, "is not gone yet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ended := run("r", 1, failed)
			taken := suite.Rerun(ended, "uid-smoke", 2, "")
			tc.change(taken)
			h := start(t, setup{objects: acme(trigger("smoke"), ended, taken)})
			_, _, err := h.Rerun(t.Context(), h.command(), "r")
			if kindOf(err) != Rejected || !strings.Contains(message(err), tc.says) {
				t.Errorf("%v, %s, want that it %s", err, message(err), tc.says)
			}
		})
	}
}

// TestRerunWithinTheBounds: the bounds of the team hold, and a refused attempt does not count.
func TestRerunWithinTheBounds(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, failed))})
	h.Dispatcher.suites.observe(nil, h.suite("r"))
	h.team.Spec.MaxSuites = new(int32(1))
	_, _, err := h.Rerun(t.Context(), h.command(), "r")
	if kindOf(err) != Rejected || !strings.Contains(message(err), "maxSuites of its Team: 1") {
		t.Errorf("%v, want the bound", err)
	}
	h.team.Spec.MaxSuites = new(int32(2))
	if _, created := h.rerun(); !created {
		t.Error("the bound leaves room for one, but there is none")
	}
}

// TestRerunOfAnEphemeralRun goes with the Environment, too.
func TestRerunOfAnEphemeralRun(t *testing.T) {
	owner := []metav1.OwnerReference{{APIVersion: "postflight.dev/v1alpha1", Kind: "Environment", Name: "staging-x", UID: "uid-x"}}
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, failed, func(s *v1alpha1.Suite) { s.OwnerReferences = owner }))})
	id, _ := h.rerun()
	if diff := cmp.Diff(owner, h.suite(id).OwnerReferences); diff != "" {
		t.Error(diff)
	}
}

// TestRerunThroughAnOutage: every call is repeated.
func TestRerunThroughAnOutage(t *testing.T) {
	away := 3
	h := start(t, setup{objects: acme(trigger("smoke"), run("r", 1, failed)), creates: repeat(3, fault{err: refusedConnection}), faults: interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if away--; away >= 0 {
				return refusedConnection
			}
			return c.Get(ctx, key, o, opts...)
		}}})
	if _, created := h.rerun(); !created {
		t.Error("the attempt was not created")
	}
}
