package suite

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestPresentWarnings(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	event := func(kind, note string, at time.Time) eventsv1.Event {
		return eventsv1.Event{Regarding: corev1.ObjectReference{UID: "pod"}, Type: kind, Note: note, DeprecatedLastTimestamp: metav1.NewTime(at)}
	}
	warning, normal := corev1.EventTypeWarning, corev1.EventTypeNormal
	series := event(warning, "no mount", noon)
	series.Series = &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(noon.Add(time.Minute))}
	cases := map[string]struct {
		reason string
		events []eventsv1.Event
		want   string
	}{
		"None":      {"nothing happened", nil, ""},
		"Normal":    {"all is well", []eventsv1.Event{event(normal, "scheduled", noon)}, ""},
		"Warned":    {"the last word", []eventsv1.Event{event(warning, "no mount", noon.Add(time.Minute)), event(normal, "scheduled", noon)}, "no mount"},
		"Over":      {"it was scheduled after all", []eventsv1.Event{event(warning, "no node", noon), event(normal, "scheduled", noon.Add(time.Minute))}, ""},
		"Over/Back": {"in any order", []eventsv1.Event{event(normal, "scheduled", noon.Add(time.Minute)), event(warning, "no node", noon)}, ""},
		"Same":      {"in the same second", []eventsv1.Event{event(warning, "no mount", noon), event(normal, "scheduled", noon.Add(time.Millisecond))}, "no mount"},
		"Again":     {"it goes on", []eventsv1.Event{series, event(normal, "pulling", noon.Add(time.Second))}, "no mount"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			last := lastEvents{}
			for _, e := range tc.events {
				last.add([]eventsv1.Event{e})
			}
			if got := last.warnings()["pod"]; got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// pagedEvents answers page by page, as an API server does.
type pagedEvents struct {
	client.Reader
	all []eventsv1.Event
}

func (r pagedEvents) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	from, _ := strconv.Atoi(o.Continue)
	to := min(from+int(o.Limit), len(r.all))
	page := list.(*eventsv1.EventList)
	page.Items = r.all[from:to]
	if to < len(r.all) {
		page.Continue = strconv.Itoa(to)
	}
	return nil
}

// TestManyEvents: a namespace with thousands of events hides no warning.
func TestManyEvents(t *testing.T) {
	var all []eventsv1.Event
	for i := range 3000 {
		all = append(all, eventsv1.Event{Regarding: corev1.ObjectReference{UID: types.UID(fmt.Sprint("pod-", i))}, Type: corev1.EventTypeNormal})
	}
	all = append(all, eventsv1.Event{Regarding: corev1.ObjectReference{UID: "job"}, Type: corev1.EventTypeWarning, Note: "exceeded quota"})
	if got := newWarnings(pagedEvents{all: all}, clock.RealClock{}).about(t.Context(), "acme", "job"); got != "exceeded quota" {
		t.Errorf("got %q", got)
	}
}
