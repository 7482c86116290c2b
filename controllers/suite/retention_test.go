package suite_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestRetention(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("brief", build.KeptFor(2*time.Second)))
	w.Create(build.Suite("brief", 0, build.OfTrigger("brief")), build.Suite("kept", 0))
	for _, name := range []string{"brief", "kept"} {
		w.Runs(name)
		w.Passes(name)
	}
	w.Reaches("kept", v1alpha1.ReasonPassed, "")
	w.CollectSuite("brief")
	w.Reaches("kept", v1alpha1.ReasonPassed, "")
	w.HasJob("kept")
}

func TestRetentionSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("brief", build.KeptFor(time.Hour)))
	w.Start(build.Suite("run", 0, build.OfTrigger("brief")))
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	w.Stop()
	w.Clock.MoveOn(59 * time.Minute) // too early
	w.StartManager()
	w.Create(build.Suite("next", 1))
	w.HasJob("next")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	w.Stop()
	w.Clock.MoveOn(2 * time.Minute)
	w.StartManager()
	w.CollectSuite("run")
}

// TestRestartInTheMiddle stops the manager, changes Jobs and Suites meanwhile, and starts it again.
func TestRestartInTheMiddle(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Create(build.Suite("passes", 0), build.Suite("older", 0, build.Keyed("k")), build.Suite("cancel", 0), build.Suite("first", 0, build.OfTrigger("one")))
	for _, name := range []string{"passes", "older", "cancel", "first"} {
		w.Runs(name)
	}
	w.Create(build.Suite("second", 1, build.OfTrigger("one")))
	w.Reaches("second", v1alpha1.ReasonQueued, "at position 1")
	w.Stop()

	w.Passes("passes")
	w.Cancel("cancel", "ada")
	w.Create(build.Suite("newer", 1, build.Keyed("k")), build.Suite("third", 2, build.OfTrigger("one")), build.Suite("fresh", 3))
	w.Passes("first")
	w.StartManager()

	w.Stops("older")
	w.Stops("cancel")
	w.Reaches("passes", v1alpha1.ReasonPassed, "")
	w.Reaches("first", v1alpha1.ReasonPassed, "")
	w.Reaches("older", v1alpha1.ReasonSuperseded, "by newer")
	w.Reaches("cancel", v1alpha1.ReasonCanceled, "by ada")
	for _, name := range []string{"newer", "second", "fresh"} {
		w.HasJob(name)
	}
	w.Reaches("third", v1alpha1.ReasonQueued, "at position 1")
}

// TestCrashBetweenJobAndStatus: the Job was created, and the status not written.
func TestCrashBetweenJobAndStatus(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0))
	before := w.HasJob("run")
	w.Stop()
	s := w.Suite("run")
	queued := v1alpha1.Queued("Before the Job.")
	queued.LastTransitionTime = metav1.Now()
	w.Status(s, func() { s.Status = v1alpha1.SuiteStatus{Conditions: []metav1.Condition{queued}} })
	w.StartManager()
	w.Reaches("run", v1alpha1.ReasonRunning, "The tests are running")
	if before.UID != w.HasJob("run").UID {
		t.Error("the run was started a second time")
	}
}
