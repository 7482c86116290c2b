// Package evictions knows which pods a kubelet evicted. It follows their events: if the containers of a pod exit with 0 at once, the
// kubelet may not write into its status that it was evicted.
package evictions

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/kube/reflector"
)

const (
	// maxPods bounds the evictions that are kept of a namespace; the oldest go first. Kubernetes keeps events for an hour. Anyone who can
	// create events there can fill it, but affects only runs of that namespace.
	maxPods = 1000

	// listWithin bounds how long runs wait for the first list: without the right to read events, the pods have to do.
	listWithin = 30 * time.Second

	maxMessage = 512 // bounds what is kept of a message, in bytes: kubelets write one or two sentences
)

// Watch follows the evictions.
type Watch struct {
	client     client.WithWatch
	namespaces []string // to follow one by one; one empty name: all at once
	listeners  []func(ctx context.Context, e *eventsv1.Event)

	clock clock.PassiveClock

	mu      sync.Mutex
	started time.Time
	listed  map[string]bool // by followed namespace
	notes   map[string]map[types.UID]note
}

type note struct {
	at      time.Time
	message string
}

// New returns a Watch, which the manager has to start.
func New(mgr ctrl.Manager, clock clock.PassiveClock, namespaces []string) (*Watch, error) {
	c, err := reflector.NewClient(mgr)
	return &Watch{client: c, clock: clock, namespaces: namespaces, listed: map[string]bool{}, notes: map[string]map[types.UID]note{}}, err
}

// OnEviction calls a function for each later eviction. Call it before Start.
func (w *Watch) OnEviction(evicted func(context.Context, *eventsv1.Event)) {
	w.listeners = append(w.listeners, evicted)
}

// NeedLeaderElection is true: only the leader ends runs.
func (w *Watch) NeedLeaderElection() bool { return true }

// Start follows events until ctx ends.
func (w *Watch) Start(ctx context.Context) error {
	w.mu.Lock()
	w.started = w.clock.Now()
	w.mu.Unlock()
	var all sync.WaitGroup
	for _, namespace := range w.namespaces {
		all.Go(func() { w.follow(ctx, namespace) })
	}
	all.Wait()
	return nil
}

// Known reports whether all evictions of the last hour are known, or cannot be.
func (w *Watch) Known() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.listed) == len(w.namespaces) || !w.started.IsZero() && w.clock.Since(w.started) >= listWithin
}

// Message returns what the kubelet said when it evicted a pod, and whether it did.
func (w *Watch) Message(namespace string, pod types.UID) (message string, evicted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, evicted := w.notes[namespace][pod]
	return n.message, evicted
}

func (w *Watch) follow(ctx context.Context, namespace string) {
	reflector.Run(ctx, w.client, reflector.Objects{
		Name: "evictions", Namespace: namespace, Object: &eventsv1.Event{},
		List:      func() client.ObjectList { return &eventsv1.EventList{} },
		Selectors: metav1.ListOptions{FieldSelector: "reason=Evicted,regarding.kind=Pod"},
	}, reflector.Handler{
		Listed: func(all []any) { w.replace(namespace, all) },
		Changed: func(obj any) {
			e := obj.(*eventsv1.Event)
			w.note(e)
			for _, evicted := range w.listeners {
				evicted(ctx, e)
			}
		},
		Deleted: func(obj any) { w.forget(obj.(*eventsv1.Event)) },
	})
}

// replace forgets events that expired while the watch was interrupted.
func (w *Watch) replace(namespace string, all []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.notes, namespace); namespace == "" {
		clear(w.notes)
	}
	for _, obj := range all {
		w.keep(obj.(*eventsv1.Event))
	}
	w.listed[namespace] = true
}

func (w *Watch) note(e *eventsv1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(e)
}

func (w *Watch) keep(e *eventsv1.Event) {
	notes := w.notes[e.Namespace]
	if notes == nil {
		notes = map[types.UID]note{}
		w.notes[e.Namespace] = notes
	}
	notes[e.Regarding.UID] = note{at: w.clock.Now(), message: plaintext.Line(e.Note, maxMessage)}
	if len(notes) > maxPods {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(notes)), func(a, b types.UID) int { return notes[a].at.Compare(notes[b].at) })
		delete(notes, oldest)
	}
}

func (w *Watch) forget(e *eventsv1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.notes[e.Namespace], e.Regarding.UID)
	if len(w.notes[e.Namespace]) == 0 {
		delete(w.notes, e.Namespace)
	}
}
