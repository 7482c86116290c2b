package suite

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
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
	live     client.Reader
	clock    clock.PassiveClock
	requests singleflight.Group // by namespace

	mu          sync.Mutex
	byNamespace map[string]namespaceWarnings
}

type namespaceWarnings struct {
	readAt time.Time
	notes  map[types.UID]string
}

func newWarnings(live client.Reader, clock clock.PassiveClock) *warnings {
	return &warnings{live: live, clock: clock, byNamespace: map[string]namespaceWarnings{}}
}

// about returns the warning that is the last event of an object, or "" if there is none or the events cannot be read.
func (w *warnings) about(ctx context.Context, namespace string, uid types.UID) string {
	if then, known := w.cached(namespace); known {
		return then.notes[uid]
	}
	notes, _, _ := w.requests.Do(namespace, func() (any, error) { return w.read(ctx, namespace), nil })
	return notes.(map[types.UID]string)[uid]
}

func (w *warnings) cached(namespace string) (then namespaceWarnings, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	maps.DeleteFunc(w.byNamespace, func(_ string, then namespaceWarnings) bool { return now.Sub(then.readAt) >= warningsEvery })
	then, known = w.byNamespace[namespace]
	return then, known
}

func (w *warnings) read(ctx context.Context, namespace string) map[types.UID]string {
	ctx, cancel := context.WithTimeout(ctx, warningsTimeout)
	defer cancel()
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
	notes := last.warnings()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byNamespace[namespace] = namespaceWarnings{readAt: w.clock.Now(), notes: notes}
	return notes
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
