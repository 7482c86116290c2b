package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestEventsAreEmittedOnce: only an end other than Passed has an event, and has one, however often the run is reconciled.
func TestEventsAreEmittedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("first", 0, of("one")))
	w.runs("first")
	w.create(aSuite("run", 1, of("one")))
	w.reaches("run", v1alpha1.ReasonQueued, "at position 1")
	for range 3 {
		w.touch("run")
	}
	w.passes("first")
	w.runs("run")
	w.stop()
	w.startManager() // a restart must not repeat events
	w.exits("run", 3)
	w.reaches("run", v1alpha1.ReasonFailed, "")
	w.touch("run")
	w.cancel("run", "")

	w.eventually("Failed has an event", func() string { // events are written later than the state
		return cmp.Diff(map[string]string{"Failed": "Warning"}, w.eventsOf("run"))
	})
	if diff := cmp.Diff(map[string]string{}, w.eventsOf("first")); diff != "" {
		t.Errorf("events of a run that passed (-want +got):\n%s", diff)
	}
}

// eventsOf maps the reason of each event to its type. A repeated event is marked.
func (w *world) eventsOf(suite string) map[string]string {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
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
