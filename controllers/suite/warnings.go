package suite

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// explainAfter is how long a Job may lack a running pod before its events are read for the reason: most pods run by then.
	explainAfter = 5 * time.Second

	// warningsEvery bounds reads per namespace: the API server has no index of events, and reads all of them.
	warningsEvery = 5 * time.Second

	// warningsTimeout bounds a read: a message is not worth a worker for longer.
	warningsTimeout = 2 * time.Second

	// eventsAtOnce bounds the memory of a read, at about 1 KiB each.
	eventsAtOnce = 500

	// maxEvents bounds the work of a read: Kubernetes keeps the events of an hour. Beyond it, the message of a run may lack the warning.
	maxEvents = 20_000
)

// warnings are the recent warnings of Kubernetes, by namespace and object. Without them, each run that cannot start would read all
// events of its namespace.
type warnings struct {
	live   client.Reader
	recent namespaceReads[map[types.UID]string]
}

func newWarnings(live client.Reader, c clock.PassiveClock) *warnings {
	w := &warnings{live: live}
	w.recent.clock, w.recent.read, w.recent.every, w.recent.timeout = c, w.read, warningsEvery, warningsTimeout
	return w
}

// about returns the warning that is the last event of an object, or "" if there is none or the events cannot be read.
func (w *warnings) about(ctx context.Context, namespace string, uid types.UID) string {
	return w.recent.get(ctx, namespace)[uid]
}

func (w *warnings) read(ctx context.Context, namespace string) map[types.UID]string {
	last, read, page := lastEvents{}, 0, &eventsv1.EventList{}
	for more := true; more && read < maxEvents; more = page.Continue != "" {
		from := page.Continue
		page = &eventsv1.EventList{}
		if err := w.live.List(ctx, page, client.InNamespace(namespace), client.Limit(eventsAtOnce), client.Continue(from)); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot read the events that may say why a pod does not start")
			break
		}
		last.add(page.Items)
		read += len(page.Items)
	}
	return last.warnings()
}

// lastEvents are the last events by the object that they are about. Of those that are no warning, only the time is kept.
type lastEvents map[types.UID]lastEvent

type lastEvent struct {
	at      time.Time // in whole seconds: many events have no others
	warning string    // "": it is none
}

func (l lastEvents) add(list []eventsv1.Event) {
	for _, e := range list {
		now := lastEvent{at: lastSeen(e).Truncate(time.Second)}
		if e.Type == corev1.EventTypeWarning {
			now.warning = e.Note
		}
		if before, known := l[e.Regarding.UID]; !known || now.after(before) {
			l[e.Regarding.UID] = now
		}
	}
}

// after lets the warning count if two may be at the same time.
func (e lastEvent) after(before lastEvent) bool {
	return e.at.After(before.at) || e.at.Equal(before.at) && e.warning != ""
}

// warnings leaves out those that were followed by another event, such as that the pod was scheduled: they are over.
func (l lastEvents) warnings() map[types.UID]string {
	notes := map[types.UID]string{}
	for uid, e := range l {
		if e.warning != "" {
			notes[uid] = e.warning
		}
	}
	return notes
}

// The field depends on the version of the API that recorded the event.
func lastSeen(e eventsv1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.DeprecatedLastTimestamp.IsZero():
		return e.DeprecatedLastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
}
