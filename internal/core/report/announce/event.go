package announce

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Event is something that happened to a run.
type Event struct {
	Name v1alpha1.RunEvent
	At   time.Time
}

// Events returns the events of a run so far, in order. They follow from the Suite alone, so none is lost or changes.
func Events(s *v1alpha1.Suite) []Event {
	all := []Event{{v1alpha1.EventQueued, s.CreationTimestamp.Time}}
	if s.Status.StartTime != nil {
		all = append(all, Event{v1alpha1.EventStarted, s.Status.StartTime.Time})
	}
	if s.Finished() && s.Status.CompletionTime != nil {
		all = append(all, Event{v1alpha1.RunEvent(s.State()), s.Status.CompletionTime.Time})
	}
	return all
}

// Type is the type of the CloudEvent.
func (e Event) Type() string { return "dev.postflight.run." + strings.ToLower(string(e.Name)) }

// ID is the same whenever the event is sent, so that receivers can ignore duplicates.
func (e Event) ID(run types.UID) string { return string(run) + "-" + strings.ToLower(string(e.Name)) }

// rank orders the events of a run. The empty one is before all.
func rank(e v1alpha1.RunEvent) int {
	switch e {
	case "":
		return 0
	case v1alpha1.EventQueued:
		return 1
	case v1alpha1.EventStarted:
		return 2
	default:
		return 3
	}
}
