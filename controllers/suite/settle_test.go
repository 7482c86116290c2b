package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const settling = "Waiting until staging has settled: the last deployment was at "

// settleWorld has an Environment with spec.settle, whose runs are superseded by those of newer deployments, and two Triggers.
func settleWorld(t *testing.T, quiet, atMost time.Duration) *world {
	t.Helper()
	w := newWorld(t)
	w.create(aTrigger("checkout"))
	w.settle(&v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet}, AtMost: &metav1.Duration{Duration: atMost}})
	return w
}

func (w *world) settle(s *v1alpha1.EnvironmentSettle) {
	w.t.Helper()
	w.change(anEnvironment("staging"), func(o client.Object) { o.(*v1alpha1.Environment).Spec.Settle = s })
}

// settleSoon makes the Environment settle 2 seconds from now: long enough for all runs to wait for that.
func (w *world) settleSoon(last int) {
	w.t.Helper()
	quiet := w.clock.Now().Sub(w.began.Add(time.Duration(last)*time.Second)) + 2*time.Second
	w.settle(&v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet.Round(time.Millisecond)}})
}

// burstDeploys makes the runs of the nth deployment of a burst, of one of two repositories.
func (w *world) burstDeploys(n int) {
	w.t.Helper()
	for _, trigger := range []string{"smoke", "checkout"} {
		w.create(aSuite(fmt.Sprintf("%s-%d", trigger, n), 2*n, of(trigger), func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: fmt.Sprint(n)}
			s.Spec.Supersede = v1alpha1.SupersedeEnvironment
			s.Spec.Deployment.Repository = []string{"acme/shop", "acme/api"}[n%2]
			s.Spec.Deployment.SHA = fmt.Sprintf("5ca1ab1e%d", n)
		}))
	}
}

func (w *world) isSettling(name string) {
	w.t.Helper()
	if s := w.reaches(name, v1alpha1.ReasonQueued, settling); !s.OnHold() {
		w.t.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.hasNoJob(name)
}

func (w *world) hasJobs(n int) {
	w.t.Helper()
	list := &batchv1.JobList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
	if len(list.Items) != n {
		w.t.Errorf("%d Jobs, want %d", len(list.Items), n)
	}
}

// TestBurstOfDeployments: of six deployments of two repositories, the last is tested, by one run of each Trigger. The manager restarts in
// the middle, and is stopped when the Environment settles.
func TestBurstOfDeployments(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, time.Hour)
	for n := range 5 {
		w.burstDeploys(n)
		w.isSettling(fmt.Sprintf("smoke-%d", n))
		w.isSettling(fmt.Sprintf("checkout-%d", n))
		if n == 2 {
			w.stop()
			w.startManager()
		}
	}
	for n := range 4 {
		for _, trigger := range []string{"smoke", "checkout"} {
			w.reaches(fmt.Sprintf("%s-%d", trigger, n), v1alpha1.ReasonSuperseded, "a newer deployment of the same stream")
		}
	}
	w.hasJobs(0)
	w.stop()
	w.clock.moveOn(time.Minute)
	w.startManager()
	w.burstDeploys(5)
	w.isSettling("smoke-5")
	w.isSettling("checkout-5")
	w.stop()
	w.clock.moveOn(5 * time.Minute)
	w.startManager()
	w.runs("smoke-5")
	w.runs("checkout-5")
	w.hasJobs(2)
}

// TestSettles: a timer ends the wait, and the queue continues in its order.
func TestSettles(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 30*time.Minute, time.Hour)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("second", 2, of("one")), aSuite("first", 1, of("one")), aSuite("other", 3))
	for _, name := range []string{"first", "second", "other"} {
		w.isSettling(name)
	}
	w.settleSoon(3)
	w.queueContinues()
}

// TestSettlesAtMost: a deployment after the other never lets the Environment be quiet. The times are less than the startTimeout of the runs.
func TestSettlesAtMost(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, 7*time.Minute)
	w.create(aSuite("run", 0))
	w.isSettling("run")
	w.clock.moveOn(4 * time.Minute)
	w.notifiedAgain("run", 4*60)
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonQueued, ", also if another follows.")
	w.hasNoJob("run")
	w.clock.moveOn(3 * time.Minute)
	w.create(aSuite("another", 1)) // starts at once: the Environment has not been quiet since
	w.runs("another")
	w.touch("run")
	w.runs("run")
}

func TestSettleIsChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"removed": func(w *world) { w.settle(nil) },
		"lowered": func(w *world) { w.settle(&v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: time.Second}}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settleWorld(t, 30*time.Minute, time.Hour)
			w.create(aTrigger("one", atMost(1)))
			w.create(aSuite("second", 2, of("one")), aSuite("first", 1, of("one")), aSuite("other", 3))
			for _, name := range []string{"first", "second", "other"} {
				w.isSettling(name)
			}
			change(w)
			w.queueContinues()
		})
	}
}

// TestHoldAndSettle: a hold that ends before the Environment has settled changes nothing.
func TestHoldAndSettle(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 30*time.Minute, time.Hour)
	w.create(aSuite("run", 0))
	w.isSettling("run")
	w.hold("staging", 40*time.Minute)
	w.isHeld("run")
	w.hold("staging", 10*time.Minute)
	w.isSettling("run")
	w.settle(nil)
	w.isHeld("run")
	w.releaseHold("staging")
	w.runs("run")
}

// TestRolloutHasToSettle: what workloads rolled out counts, too, also if no run tests it. A run that a person starts waits like any other.
func TestRolloutHasToSettle(t *testing.T) {
	t.Parallel()
	w := settleWorld(t, 5*time.Minute, time.Hour)
	w.clock.moveOn(6 * time.Minute)
	w.create(aSuite("before", 0))
	w.runs("before")
	w.stop() // it writes the status, too, and may see the run before the rollout
	e := &v1alpha1.Environment{}
	w.must(w.Client.Get(context.Background(), w.key("staging"), e))
	w.status(e, func() {
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{
			Repository: "acme/api", SHA: "c0ffee00", Since: new(metav1.NewTime(w.clock.Now().Truncate(time.Second))), ReportedBy: v1alpha1.ReportedByWorkload,
		})
	})
	w.create(aSuite("again", 2, func(s *v1alpha1.Suite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
	}))
	w.startManager()
	w.isSettling("again")
	w.clock.moveOn(5 * time.Minute)
	w.touch("again")
	w.runs("again")
}

// TestSettlesAfterAnEndedRun: a deployment counts although its run has ended, and although it was before spec.settle was set, or before this
// leader.
func TestSettlesAfterAnEndedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("deployed", 0, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "" })) // status.deployed does not have it
	w.runs("deployed")
	w.passes("deployed")
	w.reaches("deployed", v1alpha1.ReasonPassed, "")
	w.settle(&v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: 10 * time.Minute}})
	again := func(name string) *v1alpha1.Suite {
		return aSuite(name, 1, func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
		})
	}
	w.create(again("again"))
	w.isSettling("again")
	w.stop()
	w.startManager()
	w.create(again("once-more"))
	w.isSettling("once-more")
	w.hasNoJob("again")
}
