package controllers

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
	// silentAfter is how long a Job may be without a running pod before events are asked for the
	// reason: most pods run by then.
	silentAfter = 5 * time.Second

	// warningsEvery bounds how often that is done in a namespace, however many of its runs wait: the
	// API server has no index of events, and reads all of the namespace's.
	warningsEvery = 5 * time.Second

	// warningsWithin is how long that may take: words are not worth a worker for longer.
	warningsWithin = 2 * time.Second

	// maxEvents bounds the memory of a look, at about 1 KiB each. Where a namespace has more, the one
	// that tells may be missing, and the run says that it waits.
	maxEvents = 1000
)

// warnings are what Kubernetes warns of, by namespace and object, as far as anybody asked lately.
type warnings struct {
	live   client.Reader
	clock  clock.PassiveClock
	asking singleflight.Group // by namespace

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

// about is what Kubernetes warned of last, and of nothing since, about an object; empty where that is
// nothing. That the events cannot be had is logged, and must not keep anybody from what else is known of
// the run.
func (w *warnings) about(ctx context.Context, namespace string, uid types.UID) string {
	if then, known := w.lately(namespace); known {
		return then.notes[uid]
	}
	notes, _, _ := w.asking.Do(namespace, func() (any, error) { return w.ask(ctx, namespace), nil })
	return notes.(map[types.UID]string)[uid]
}

func (w *warnings) lately(namespace string) (then warningsThen, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	maps.DeleteFunc(w.byNamespace, func(_ string, then warningsThen) bool { return now.Sub(then.at) >= warningsEvery })
	then, known = w.byNamespace[namespace]
	return then, known
}

func (w *warnings) ask(ctx context.Context, namespace string) map[types.UID]string {
	ctx, cancel := context.WithTimeout(ctx, warningsWithin)
	defer cancel()
	list := &eventsv1.EventList{}
	if err := w.live.List(ctx, list, client.InNamespace(namespace), client.Limit(maxEvents)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the events that may say why a pod does not start")
	}
	notes := presentWarnings(list.Items)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byNamespace[namespace] = warningsThen{at: w.clock.Now(), notes: notes}
	return notes
}

// presentWarnings are the warnings that are an object's last event: one that was followed by another
// event, such as that the pod was scheduled after all, is over.
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

// later reports whether a is later than b. Many events have times in whole seconds only; of those that may
// be at the same time the warning counts.
func later(a, b eventsv1.Event) bool {
	one, other := lastSeen(a).Truncate(time.Second), lastSeen(b).Truncate(time.Second)
	return one.After(other) || (one.Equal(other) && a.Type == corev1.EventTypeWarning)
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
