package evictions

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestWatch(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	w := &Watch{clock: clock, namespaces: []string{""}, listed: map[string]bool{}, notes: map[string]map[types.UID]note{}}
	eviction := func(namespace, pod string) *eventsv1.Event {
		return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Regarding: corev1.ObjectReference{UID: types.UID(pod)}, Note: "low on " + pod}
	}
	evicted := func(namespace, pod string) bool {
		message, evicted := w.Message(namespace, types.UID(pod))
		return evicted && message == "low on "+pod
	}
	if w.Known() {
		t.Error("nothing was listed")
	}
	w.replace("", []any{eviction("a", "1"), eviction("b", "2")})
	if !w.Known() || !evicted("a", "1") || !evicted("b", "2") || evicted("b", "1") {
		t.Errorf("after the list: %v", w.notes)
	}
	w.note(eviction("a", "3"))
	w.forget(eviction("a", "1"))
	if evicted("a", "1") || !evicted("a", "3") {
		t.Errorf("after a change: %v", w.notes)
	}
	w.replace("", []any{eviction("b", "2")}) // the others expired meanwhile
	if evicted("a", "3") || !evicted("b", "2") || len(w.notes) != 1 {
		t.Errorf("after another list: %v", w.notes)
	}
	for i := range maxPods + 10 {
		clock.SetTime(clock.Now().Add(time.Second))
		w.note(eviction("c", fmt.Sprint(i)))
	}
	if evicted("c", "9") || !evicted("c", "10") || !evicted("c", fmt.Sprint(maxPods+9)) || !evicted("b", "2") {
		t.Errorf("of a namespace with too many, %d are kept", len(w.notes["c"]))
	}
}

// TestWithoutRights: runs do not wait for ever for events that cannot be read.
func TestWithoutRights(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	w := &Watch{clock: clock, namespaces: []string{"a"}, started: clock.Now()}
	clock.SetTime(clock.Now().Add(listWithin - 1))
	if w.Known() {
		t.Error("it may still be listed")
	}
	if clock.SetTime(clock.Now().Add(1)); !w.Known() {
		t.Error("it waits for ever")
	}
}
