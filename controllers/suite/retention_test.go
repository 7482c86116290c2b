package controllers_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("brief", keptFor(2*time.Second)))
	w.create(aSuite("brief", 0, of("brief")), aSuite("kept", 0))
	for _, name := range []string{"brief", "kept"} {
		w.runs(name)
		w.passes(name)
	}
	w.reaches("kept", v1alpha1.ReasonPassed, "")
	w.collectSuite("brief")
	w.reaches("kept", v1alpha1.ReasonPassed, "")
	w.hasJob("kept")
}

// collectSuite waits for the deletion of a Suite, acts as the garbage collector, and checks that the Suite is removed
// only together with its Job.
func (w *world) collectSuite(name string) {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually("the Suite "+name+" is being deleted", func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		if s.DeletionTimestamp == nil {
			return "it is not"
		}
		return ""
	})
	if owner := metav1.GetControllerOf(w.hasJob(name)); owner == nil || !*owner.BlockOwnerDeletion {
		w.t.Error("the Suite may go before its Job")
	}
	w.must(w.Client.Delete(context.Background(), w.hasJob(name), client.PropagationPolicy("Background")))
	w.drop(&v1alpha1.Suite{}, name)
	w.gone(&v1alpha1.Suite{}, name)
}

func TestRetentionSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("brief", keptFor(time.Hour)))
	w.create(aSuite("run", 0, of("brief")))
	w.runs("run")
	w.passes("run")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	w.stop()
	w.clock.moveOn(59 * time.Minute) // too early
	w.startManager()
	w.create(aSuite("next", 1))
	w.hasJob("next")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	w.stop()
	w.clock.moveOn(2 * time.Minute)
	w.startManager()
	w.collectSuite("run")
}

// TestRestartInTheMiddle stops the manager, changes Jobs and Suites meanwhile, and starts it again.
func TestRestartInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("passes", 0), aSuite("older", 0, keyed("k")), aSuite("cancel", 0), aSuite("first", 0, of("one")))
	for _, name := range []string{"passes", "older", "cancel", "first"} {
		w.runs(name)
	}
	w.create(aSuite("second", 1, of("one")))
	w.reaches("second", v1alpha1.ReasonQueued, "at position 1")
	w.stop()

	w.passes("passes")
	w.cancel("cancel", "ada")
	w.create(aSuite("newer", 1, keyed("k")), aSuite("third", 2, of("one")), aSuite("fresh", 3))
	w.passes("first")
	w.startManager()

	w.stops("older")
	w.stops("cancel")
	w.reaches("passes", v1alpha1.ReasonPassed, "")
	w.reaches("first", v1alpha1.ReasonPassed, "")
	w.reaches("older", v1alpha1.ReasonSuperseded, "by newer")
	w.reaches("cancel", v1alpha1.ReasonCanceled, "by ada")
	for _, name := range []string{"newer", "second", "fresh"} {
		w.hasJob(name)
	}
	w.reaches("third", v1alpha1.ReasonQueued, "at position 1")
}

// TestCrashBetweenJobAndStatus: the Job was created, and the status not written.
func TestCrashBetweenJobAndStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	w.runs("run")
	before := w.hasJob("run")
	w.stop()
	s := aSuiteNamed(w, "run")
	w.must(w.Client.Get(context.Background(), w.key("run"), s))
	queued := v1alpha1.Queued("Before the Job.")
	queued.LastTransitionTime = metav1.Now()
	w.status(s, func() { s.Status = v1alpha1.SuiteStatus{Conditions: []metav1.Condition{queued}} })
	w.startManager()
	w.reaches("run", v1alpha1.ReasonRunning, "The tests are running")
	after := &batchv1.Job{}
	w.must(w.Client.Get(context.Background(), w.key("run"), after))
	if before.UID != after.UID {
		t.Error("the run was started a second time")
	}
}
