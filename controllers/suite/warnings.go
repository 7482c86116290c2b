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

	// maxEvents bounds the memory of a read, at about 1 KiB each. Beyond it, the message of a run may lack the warning.
	maxEvents = 1000
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
	list := &eventsv1.EventList{}
	if err := w.live.List(ctx, list, client.InNamespace(namespace), client.Limit(maxEvents)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the events that may say why a pod does not start")
	}
	notes := presentWarnings(list.Items)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byNamespace[namespace] = namespaceWarnings{readAt: w.clock.Now(), notes: notes}
	return notes
}

// A warning that was followed by another event, such as that the pod was scheduled, is over.
func presentWarnings(list []eventsv1.Event) map[types.UID]string {
	last := map[types.UID]eventsv1.Event{}
	for _, e := range list {
		if other, ok := last[e.Regarding.UID]; !ok || later(e, other) {
			last[e.Regarding.UID] = e
		}
	}
	notes := map[types.UID]string{}
	for uid, e := range last {
		if e.Type == corev1.EventTypeWarning {
			notes[uid] = e.Note
		}
	}
	return notes
}

// Many events have times in whole seconds only; if two may be at the same time, the warning counts.
func later(a, b eventsv1.Event) bool {
	one, other := lastSeen(a).Truncate(time.Second), lastSeen(b).Truncate(time.Second)
	return one.After(other) || (one.Equal(other) && a.Type == corev1.EventTypeWarning)
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
