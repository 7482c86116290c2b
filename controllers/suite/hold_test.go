package controllers_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// hold acts as the command does.
func (w *world) hold(environment string, d time.Duration) {
	w.t.Helper()
	w.change(anEnvironment(environment), func(o client.Object) {
		until := metav1.NewTime(w.clock.Now().Add(d).Truncate(time.Second))
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: until, Reason: "debugging 812"}
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationHeldBy: "anna@example.com"})
	})
}

func (w *world) releaseHold(environment string) {
	w.t.Helper()
	w.change(anEnvironment(environment), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = nil
		o.SetAnnotations(nil)
	})
}

func (w *world) isHeld(name string) {
	w.t.Helper()
	s := w.reaches(name, v1alpha1.ReasonQueued, "Waiting: staging is on hold until ")
	if w.reaches(name, v1alpha1.ReasonQueued, "(debugging 812, by anna@example.com)."); !s.OnHold() {
		w.t.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.hasNoJob(name)
}

// queuedOnHold waits until "first" and "second", for which there is one slot, and "other" are on hold.
func (w *world) queuedOnHold() {
	w.t.Helper()
	w.create(aTrigger("one", atMost(1)))
	w.hold("staging", 10*time.Minute)
	w.create(aSuite("second", 2, of("one")), aSuite("first", 1, of("one")), aSuite("other", 3))
	for _, name := range []string{"first", "second", "other"} {
		w.isHeld(name)
	}
}

// queueContinues in its order.
func (w *world) queueContinues() {
	w.t.Helper()
	w.runs("first")
	w.runs("other")
	w.reaches("second", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.hasNoJob("second")
	w.passes("first")
	w.runs("second")
}

func TestHoldIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("started", 0))
	w.runs("started")
	w.queuedOnHold()
	w.reaches("started", v1alpha1.ReasonRunning, "The tests are running")
	w.passes("started")
	w.reaches("started", v1alpha1.ReasonPassed, "")
	w.releaseHold("staging")
	w.queueContinues()
}

func TestHoldEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queuedOnHold()
	w.hold("staging", 2*time.Second) // long enough for all to wait for its end
	w.queueContinues()
}

// TestHoldOutlastsALeader: the next one knows of the hold, and that it is over.
func TestHoldOutlastsALeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queuedOnHold()
	w.stop()
	w.startManager()
	w.create(aSuite("later", 4))
	w.isHeld("later")
	w.hasNoJob("first")
	w.stop()
	w.clock.moveOn(10 * time.Minute) // less than the startTimeout of the runs
	w.startManager()
	w.queueContinues()
	w.runs("later")
}

func TestSupersedingAndCancelingDuringAHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold("staging", time.Hour)
	w.create(aSuite("older", 0, keyed("main")))
	w.isHeld("older")
	w.create(aSuite("newest", 1, keyed("main")), aSuite("canceled", 2))
	w.reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newest")
	w.isHeld("newest")
	w.isHeld("canceled")
	w.cancel("canceled", "ben")
	w.reaches("canceled", v1alpha1.ReasonCanceled, "Canceled by ben.")
	w.releaseHold("staging")
	w.runs("newest")
}

// TestHoldLeavesSlotsToOthers: with one slot of the team, other Environments have it during a hold, and its queue continues in the order of
// all runs.
func TestHoldLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.create(anEnvironment("staging"), anEnvironment("production"), aTrigger("smoke"))
	w.startManager()
	w.hold("staging", time.Hour)
	w.create(aSuite("held", 0))
	w.isHeld("held")
	w.create(aSuite("a", 1, at("production")))
	w.runs("a")
	w.create(aSuite("b", 2, at("production")))
	w.reaches("b", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.hold("staging", 2*time.Second)
	w.reaches("held", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.reaches("b", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.passes("a")
	w.runs("held")
}

// TestHoldOfAnEphemeralEnvironment changes nothing about its end.
func TestHoldOfAnEphemeralEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("pr-1", ephemeral(w.clock.Now().Add(10*time.Minute)), func(e *v1alpha1.Environment) { // held before a run can see it
		e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(w.clock.Now().Add(time.Hour).Truncate(time.Second)), Reason: "debugging 812"}
	}))
	w.create(aSuite("run", 0, at("pr-1")))
	w.reaches("run", v1alpha1.ReasonQueued, "pr-1 is on hold until ")
	w.clock.moveOn(20 * time.Minute)
	w.change(anEnvironment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.reaches("run", v1alpha1.ReasonCanceled, "because its ephemeral Environment expired")
	w.gone(&v1alpha1.Environment{}, "pr-1")
	w.must(w.Client.Get(context.Background(), w.key("staging"), &v1alpha1.Environment{}))
}
