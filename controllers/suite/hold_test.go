package suite_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// hold acts as the command does.
func hold(w *world.World, environment string, d time.Duration) {
	w.T.Helper()
	w.Change(build.Environment(environment), func(o client.Object) {
		until := metav1.NewTime(w.Clock.Now().Add(d).Truncate(time.Second))
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: until, Reason: "debugging 812"}
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationHeldBy: "anna@example.com"})
	})
}

func releaseHold(w *world.World, environment string) {
	w.T.Helper()
	w.Change(build.Environment(environment), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = nil
		o.SetAnnotations(nil)
	})
}

func isHeld(w *world.World, name string) {
	w.T.Helper()
	s := w.Reaches(name, v1alpha1.ReasonQueued, "Waiting: staging is on hold until ")
	if w.Reaches(name, v1alpha1.ReasonQueued, "(debugging 812, by anna@example.com)."); !s.OnHold() {
		w.T.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.HasNoJob(name)
}

// queuedOnHold waits until "first" and "second", for which there is one slot, and "other" are on hold.
func queuedOnHold(w *world.World) {
	w.T.Helper()
	w.Create(build.Trigger("one", build.AtMost(1)))
	hold(w, "staging", 10*time.Minute)
	w.Create(build.Suite("second", 2, build.OfTrigger("one")), build.Suite("first", 1, build.OfTrigger("one")), build.Suite("other", 3))
	for _, name := range []string{"first", "second", "other"} {
		isHeld(w, name)
	}
}

// queueContinues in its order.
func queueContinues(w *world.World) {
	w.T.Helper()
	w.Runs("first")
	w.Runs("other")
	w.Reaches("second", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.HasNoJob("second")
	w.Passes("first")
	w.Runs("second")
}

func TestHoldIsReleased(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("started", 0))
	queuedOnHold(w)
	w.Reaches("started", v1alpha1.ReasonRunning, "The tests are running")
	w.Passes("started")
	w.Reaches("started", v1alpha1.ReasonPassed, "")
	releaseHold(w, "staging")
	queueContinues(w)
}

func TestHoldEnds(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	queuedOnHold(w)
	hold(w, "staging", 2*time.Second) // long enough for all to wait for its end
	queueContinues(w)
}

// TestHoldOutlastsALeader: the next one knows of the hold, and that it is over.
func TestHoldOutlastsALeader(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	queuedOnHold(w)
	w.Stop()
	w.StartManager()
	w.Create(build.Suite("later", 4))
	isHeld(w, "later")
	w.HasNoJob("first")
	w.Stop()
	w.Clock.MoveOn(10 * time.Minute) // less than the startTimeout of the runs
	w.StartManager()
	queueContinues(w)
	w.Runs("later")
}

func TestSupersedingAndCancelingDuringAHold(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	hold(w, "staging", time.Hour)
	w.Create(build.Suite("older", 0, build.Keyed("main")))
	isHeld(w, "older")
	w.Create(build.Suite("newest", 1, build.Keyed("main")), build.Suite("canceled", 2))
	w.Reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newest")
	isHeld(w, "newest")
	isHeld(w, "canceled")
	w.Cancel("canceled", "ben")
	w.Reaches("canceled", v1alpha1.ReasonCanceled, "Canceled by ben.")
	releaseHold(w, "staging")
	w.Runs("newest")
}

// TestHoldLeavesSlotsToOthers: with one slot of the team, other Environments have it during a hold, and its queue continues in the order of
// all runs.
func TestHoldLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Create(build.Environment("staging"), build.Environment("production"), build.Trigger("smoke"))
	w.StartManager()
	hold(w, "staging", time.Hour)
	w.Create(build.Suite("held", 0))
	isHeld(w, "held")
	w.Start(build.Suite("a", 1, build.InEnvironment("production")))
	w.Create(build.Suite("b", 2, build.InEnvironment("production")))
	w.Reaches("b", v1alpha1.ReasonQueued, "at position 1 in the queue")
	hold(w, "staging", 2*time.Second)
	w.Reaches("held", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Reaches("b", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.Passes("a")
	w.Runs("held")
}

// TestHoldOfAnEphemeralEnvironment changes nothing about its end.
func TestHoldOfAnEphemeralEnvironment(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("pr-1", build.Ephemeral(w.Clock.Now().Add(10*time.Minute)), func(e *v1alpha1.Environment) { // held before a run can see it
		e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(w.Clock.Now().Add(time.Hour).Truncate(time.Second)), Reason: "debugging 812"}
	}))
	w.Create(build.Suite("run", 0, build.InEnvironment("pr-1")))
	w.Reaches("run", v1alpha1.ReasonQueued, "pr-1 is on hold until ")
	w.Clock.MoveOn(20 * time.Minute)
	w.Change(build.Environment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.Reaches("run", v1alpha1.ReasonCanceled, "because its ephemeral Environment expired")
	w.Gone(&v1alpha1.Environment{}, "pr-1")
	w.Read(build.Environment("staging"))
}
