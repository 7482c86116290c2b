package suite_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
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
	w.Must(w.Client.List(context.Background(), list, client.InNamespace(w.NS)))
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
