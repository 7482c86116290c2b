// Package evictions knows which pods a kubelet evicted. It follows their events: if the containers of a pod exit with 0 at once, the kubelet
// may not write into its status that it was evicted.
package evictions

import (
	"context"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/kube/reflector"
)

const (
	// maxPods bounds the pods of a namespace: events are kept for an hour, in which few nodes evict so many. Anybody who can create events
	// there can only make the runs of this namespace forget.
	maxPods = 1000

	// listWithin bounds how long runs wait for the first list: without the right to read events, the pods have to do.
	listWithin = 30 * time.Second

	maxMessage = 512 // bounds what is kept of a message, in bytes: kubelets write one or two sentences
)

// Watch follows the evictions.
type Watch struct {
	client     client.WithWatch
	namespaces []string                                       // to follow one by one; one empty name: all at once
	told       []func(ctx context.Context, e *eventsv1.Event) // as soon as a pod is evicted

	clock clock.PassiveClock

	mu      sync.Mutex
	started time.Time
	listed  map[string]bool // by followed namespace
	notes   map[string]map[types.UID]string
}

// New returns a Watch, which the manager has to start.
func New(mgr ctrl.Manager, clock clock.PassiveClock, namespaces []string) (*Watch, error) {
	c, err := reflector.NewClient(mgr)
	return &Watch{client: c, clock: clock, namespaces: namespaces, listed: map[string]bool{}, notes: map[string]map[types.UID]string{}}, err
}

// Tell calls a function for each later eviction. Call it before Start.
func (w *Watch) Tell(evicted func(context.Context, *eventsv1.Event)) {
	w.told = append(w.told, evicted)
}

// NeedLeaderElection is true: nobody else asks.
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
	message, evicted = w.notes[namespace][pod]
	return message, evicted
}

func (w *Watch) follow(ctx context.Context, namespace string) {
	reflector.Run(ctx, w.client, reflector.Objects{
		Name: "evictions", Namespace: namespace, Object: &eventsv1.Event{},
		List:      func() client.ObjectList { return &eventsv1.EventList{} },
		Selectors: metav1.ListOptions{FieldSelector: "reason=Evicted,regarding.kind=Pod"},
	}, reflector.Handler{
		Listed: func(all []any) {
			for _, obj := range all {
				w.note(obj.(*eventsv1.Event))
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.listed[namespace] = true
		},
		Changed: func(obj any) {
			e := obj.(*eventsv1.Event)
			w.note(e)
			for _, tell := range w.told {
				tell(ctx, e)
			}
		},
		Deleted: func(obj any) { w.forget(obj.(*eventsv1.Event)) },
	})
}

func (w *Watch) note(e *eventsv1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	notes := w.notes[e.Namespace]
	if notes == nil {
		notes = map[types.UID]string{}
		w.notes[e.Namespace] = notes
	}
	if _, known := notes[e.Regarding.UID]; known || len(notes) < maxPods {
		notes[e.Regarding.UID] = plaintext.Line(e.Note, maxMessage)
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
