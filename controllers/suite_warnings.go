package controllers

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// silentAfter is how long a Job may be without a running pod before events are asked for the
	// reason: most pods run by then.
	silentAfter = 5 * time.Second

	// warningsEvery bounds how often that is done in a namespace, however many of its runs wait: the
	// API server has no index of events, and reads all of the namespace's.
	warningsEvery = 5 * time.Second
)

// warnings are what Kubernetes last warned of, by namespace and object, as far as anybody asked lately.
type warnings struct {
	live  client.Reader
	clock clock.PassiveClock

	mu          sync.Mutex
	byNamespace map[string]warningsThen
}

type warningsThen struct {
	at    time.Time
	notes map[types.UID]string
}

func newWarnings(live client.Reader, clock clock.PassiveClock) *warnings {
	return &warnings{live: live, clock: clock, byNamespace: map[string]warningsThen{}}
}

// about is the last warning about an object, empty where there was none. That the events cannot be had
// is logged, and must not keep anybody from what else is known of the run.
func (w *warnings) about(ctx context.Context, namespace string, uid types.UID) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	maps.DeleteFunc(w.byNamespace, func(_ string, then warningsThen) bool { return now.Sub(then.at) >= warningsEvery })
	then, known := w.byNamespace[namespace]
	if !known {
		notes, err := lastWarnings(ctx, w.live, namespace)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot read the events that may say why a pod does not start")
		}
		then = warningsThen{at: now, notes: notes}
		w.byNamespace[namespace] = then
	}
	return then.notes[uid]
}

func lastWarnings(ctx context.Context, live client.Reader, namespace string) (map[types.UID]string, error) {
	list := &eventsv1.EventList{}
	if err := live.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"type": corev1.EventTypeWarning}); err != nil {
		return nil, err
	}
	notes, last := map[types.UID]string{}, map[types.UID]time.Time{}
	for _, e := range list.Items {
		if uid, at := e.Regarding.UID, lastSeen(e); !at.Before(last[uid]) {
			notes[uid], last[uid] = e.Note, at
		}
	}
	return notes, nil
}

// lastSeen is when an event last happened, by whichever generation of its fields it has.
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
