package suite_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

const settling = "Waiting until staging has settled: the last deployment was at "

// settleWorld has an Environment with spec.settle, whose runs are superseded by those of newer deployments, and two Triggers.
func settleWorld(t *testing.T, quiet, atMost time.Duration) *world.World {
	t.Helper()
	w := world.New(t)
	w.Create(build.Trigger("checkout"))
	settle(w, &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet}, AtMost: &metav1.Duration{Duration: atMost}})
	return w
}

func settle(w *world.World, s *v1alpha1.EnvironmentSettle) {
	w.T.Helper()
	w.Change(build.Environment("staging"), func(o client.Object) { o.(*v1alpha1.Environment).Spec.Settle = s })
}

// settleSoon makes the Environment settle 2 seconds from now: long enough for all runs to wait for that.
func settleSoon(w *world.World, last int) {
	w.T.Helper()
	quiet := w.Clock.Now().Sub(w.Began.Add(time.Duration(last)*time.Second)) + 2*time.Second
	settle(w, &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet.Round(time.Millisecond)}})
}

// burstDeploys makes the runs of the nth deployment of a burst, of one of two repositories.
func burstDeploys(w *world.World, n int) {
	w.T.Helper()
	for _, trigger := range []string{"smoke", "checkout"} {
		w.Create(build.Suite(fmt.Sprintf("%s-%d", trigger, n), 2*n, build.OfTrigger(trigger), func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: fmt.Sprint(n)}
			s.Spec.Supersede = v1alpha1.SupersedeEnvironment
			s.Spec.Deployment.Repository = []string{"acme/shop", "acme/api"}[n%2]
			s.Spec.Deployment.SHA = fmt.Sprintf("5ca1ab1e%d", n)
		}))
	}
}

func isSettling(w *world.World, name string) {
	w.T.Helper()
	if s := w.Reaches(name, v1alpha1.ReasonQueued, settling); !s.OnHold() {
		w.T.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.HasNoJob(name)
}

func hasJobs(w *world.World, n int) {
	w.T.Helper()
	list := &batchv1.JobList{}
	w.List(list)
	if len(list.Items) != n {
		w.T.Errorf("%d Jobs, want %d", len(list.Items), n)
	}
}

// TestBurstOfDeployments: of six deployments of two repositories, the last is tested, by one run of each Trigger. The manager restarts in
// the middle, and is stopped when the Environment settles.
func TestBurstOfDeployments(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, time.Hour)
	for n := range 5 {
		burstDeploys(w, n)
		isSettling(w, fmt.Sprintf("smoke-%d", n))
		isSettling(w, fmt.Sprintf("checkout-%d", n))
		if n == 2 {
			w.Stop()
			w.StartManager()
		}
	}
	for n := range 4 {
		for _, trigger := range []string{"smoke", "checkout"} {
			w.Reaches(fmt.Sprintf("%s-%d", trigger, n), v1alpha1.ReasonSuperseded, "a newer deployment of the same stream")
		}
	}
	hasJobs(w, 0)
	w.Stop()
	w.Clock.MoveOn(time.Minute)
	w.StartManager()
	burstDeploys(w, 5)
	isSettling(w, "smoke-5")
	isSettling(w, "checkout-5")
	w.Stop()
	w.Clock.MoveOn(5 * time.Minute)
	w.StartManager()
	w.Runs("smoke-5")
	w.Runs("checkout-5")
	hasJobs(w, 2)
}

// TestSettles: a timer ends the wait, and the queue continues in its order.
func TestSettles(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 30*time.Minute, time.Hour)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Create(build.Suite("second", 2, build.OfTrigger("one")), build.Suite("first", 1, build.OfTrigger("one")), build.Suite("other", 3))
	for _, name := range []string{"first", "second", "other"} {
		isSettling(w, name)
	}
	settleSoon(w, 3)
	queueContinues(w)
}

// TestSettlesAtMost: a deployment after the other never lets the Environment be quiet. The times are less than the startTimeout of the
// runs.
func TestSettlesAtMost(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, 7*time.Minute)
	w.Create(build.Suite("run", 0))
	isSettling(w, "run")
	w.Clock.MoveOn(4 * time.Minute)
	notifiedAgain(w, "run", 4*60)
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonQueued, ", also if another follows.")
	w.HasNoJob("run")
	w.Clock.MoveOn(3 * time.Minute)
	w.Create(build.Suite("another", 1)) // starts at once: the Environment has not been quiet since
	w.Runs("another")
	w.Touch("run")
	w.Runs("run")
}

func TestSettleIsChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world.World){
		"removed": func(w *world.World) { settle(w, nil) },
		"lowered": func(w *world.World) {
			settle(w, &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: time.Second}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settleWorld(t, 30*time.Minute, time.Hour)
			w.Create(build.Trigger("one", build.AtMost(1)))
			w.Create(build.Suite("second", 2, build.OfTrigger("one")), build.Suite("first", 1, build.OfTrigger("one")), build.Suite("other", 3))
			for _, name := range []string{"first", "second", "other"} {
				isSettling(w, name)
			}
			change(w)
			queueContinues(w)
		})
	}
}

// TestHoldAndSettle: a hold that ends before the Environment has settled changes nothing.
func TestHoldAndSettle(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 30*time.Minute, time.Hour)
	w.Create(build.Suite("run", 0))
	isSettling(w, "run")
	hold(w, "staging", 40*time.Minute)
	isHeld(w, "run")
	hold(w, "staging", 10*time.Minute)
	isSettling(w, "run")
	settle(w, nil)
	isHeld(w, "run")
	releaseHold(w, "staging")
	w.Runs("run")
}

// TestRolloutHasToSettle: what workloads rolled out counts, too, also if no run tests it. A run that a person starts waits like any other.
func TestRolloutHasToSettle(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, time.Hour)
	w.Clock.MoveOn(6 * time.Minute)
	w.Start(build.Suite("before", 0))
	w.Stop() // it writes the status, too, and may see the run before the rollout
	e := build.Environment("staging")
	w.Read(e)
	w.Status(e, func() {
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{
			Repository: "acme/api", SHA: "c0ffee00", Since: new(metav1.NewTime(w.Clock.Now().Truncate(time.Second))), ReportedBy: v1alpha1.ReportedByWorkload,
		})
	})
	w.Create(build.Suite("again", 2, func(s *v1alpha1.Suite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
	}))
	w.StartManager()
	isSettling(w, "again")
	w.Clock.MoveOn(5 * time.Minute)
	w.Touch("again")
	w.Runs("again")
}

// TestSettlesAfterAnEndedRun: a deployment counts although its run has ended, and although it was before spec.settle was set, or before
// this leader.
func TestSettlesAfterAnEndedRun(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("deployed", 0, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "" })) // status.deployed does not have it
	w.Runs("deployed")
	w.Passes("deployed")
	w.Reaches("deployed", v1alpha1.ReasonPassed, "")
	settle(w, &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: 10 * time.Minute}})
	again := func(name string) *v1alpha1.Suite {
		return build.Suite(name, 1, func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
		})
	}
	w.Create(again("again"))
	isSettling(w, "again")
	w.Stop()
	w.StartManager()
	w.Create(again("once-more"))
	isSettling(w, "once-more")
	w.HasNoJob("again")
}
