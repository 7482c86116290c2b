package suite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

// TestEventsAreEmittedOnce: only an end other than Passed has an event, and has one, however often the run is reconciled.
func TestEventsAreEmittedOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Start(build.Suite("first", 0, build.OfTrigger("one")))
	w.Create(build.Suite("run", 1, build.OfTrigger("one")))
	w.Reaches("run", v1alpha1.ReasonQueued, "at position 1")
	for range 3 {
		w.Touch("run")
	}
	w.Passes("first")
	w.Runs("run")
	w.Stop()
	w.StartManager() // a restart must not repeat events
	w.Exits("run", 3)
	w.Reaches("run", v1alpha1.ReasonFailed, "")
	w.Touch("run")
	w.Cancel("run", "")

	w.Eventually("Failed has an event", func() string { // events are written later than the state
		return cmp.Diff(map[string]string{"Failed": "Warning"}, eventsOf(w, "run"))
	})
	if diff := cmp.Diff(map[string]string{}, eventsOf(w, "first")); diff != "" {
		t.Errorf("events of a run that passed (-want +got):\n%s", diff)
	}
}

// eventsOf maps the reason of each event to its type. A repeated event is marked.
func eventsOf(w *world.World, suite string) map[string]string {
	w.T.Helper()
	list := &eventsv1.EventList{}
	w.List(list)
	events := map[string]string{}
	for _, e := range list.Items {
		if e.Regarding.Kind != "Suite" || e.Regarding.Name != suite {
			continue
		}
		if _, again := events[e.Reason]; again || e.Series != nil {
			e.Type = fmt.Sprintf("%s, again: %q", e.Type, e.Note)
		}
		events[e.Reason] = e.Type
	}
	return events
}

// TestPodRefused: Kubernetes warns repeatedly that it cannot create the pod. The message of the run says so, does
// not change with each warning, and keeps the reason when the run ends.
func TestPodRefused(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Reaches("run", v1alpha1.ReasonStarting, "Waiting for the pod to be created")
	const message = "The pod cannot start: exceeded quota: pods, requested: pods=1"
	written := 0
	for i := range 3 {
		warn(w, j, i, fmt.Sprintf(`Error creating: pods "run-%05d" is forbidden: exceeded quota: pods, requested: pods=1`, i))
		w.Clock.MoveOn(10 * time.Second)
		w.Touch("run")
		poll.True(t, "the manager reads the events again", func() bool { return w.Wire.Count("GET events") > i })
		w.Reaches("run", v1alpha1.ReasonStarting, message)
		if i == 0 {
			written = w.Wire.Count("PATCH suites/status")
		}
	}
	slow := w.Wire.CountLost("GET events") // each of which changes the message, and the next one changes it back
	if more := w.Wire.Count("PATCH suites/status") - written; more > 2*slow {
		t.Errorf("the status was written %d more times with the same message", more)
	}
	w.Expires("run")
	w.Reaches("run", v1alpha1.ReasonTimedOut, message)
}

// warn creates an event, as the Job controller does.
func warn(w *world.World, j *batchv1.Job, i int, note string) {
	w.T.Helper()
	at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
	w.Create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", j.Name, i)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: note,
		FirstTimestamp: at, LastTimestamp: at,
	})
}
