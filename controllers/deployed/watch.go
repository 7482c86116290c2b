package deployed

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployed"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// watch is an informer that runs. It keeps what is read of objects that an Environment names, and stubs of the others.
type watch struct {
	source   deployed.Source
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	room     *account
	namers   *deployed.Namers // some

	mu          sync.Mutex
	began       time.Time
	loaded      time.Duration // how long the first list took; 0: it is not complete
	reloads     bool          // soon
	problem     error         // why the last request failed; nil: it did not
	synced      string        // the resource version that the informer had then
	first, last time.Time     // failures of a row
}

// stub is what is kept of an object that no Environment names, or that is too large.
type stub struct {
	metav1.PartialObjectMetadata
	bytes int64 // of the object; 0: nobody names it
}

// DeepCopyObject implements runtime.Object.
func (s *stub) DeepCopyObject() runtime.Object {
	return &stub{PartialObjectMetadata: *s.DeepCopy(), bytes: s.bytes}
}

func stubOf(o *unstructured.Unstructured, bytes int64) *stub {
	s := &stub{bytes: bytes}
	s.Name, s.Namespace, s.UID, s.ResourceVersion, s.Labels = o.GetName(), o.GetNamespace(), o.GetUID(), o.GetResourceVersion(), o.GetLabels()
	return s
}

// begin starts a watch for those who name objects of it. It takes what the namespace has room for.
func (w *watches) begin(s deployed.Source, resource schema.GroupVersionResource, namers *deployed.Namers) *watch {
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, resource, s.Namespace, 0, cache.Indexers{}, nil).Informer()
	running := &watch{source: s, resource: resource, informer: informer, namers: namers, began: w.clock.Now(), room: w.rooms.enter(s.Namespace)}
	_ = informer.SetTransform(running.keep) // it fails only if the informer has started
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if running.failed(err, w.clock.Now()) {
			w.notify(running, nil)
		}
	})
	w.handle(running)
	ctx, cancel := context.WithCancel(w.ctx)
	running.stop = func() { cancel(); running.room.leave() }
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			running.complete(w.clock.Now())
			w.notify(running, nil) // those that asked before wait for it
		}
	}()
	return running
}

func (w *watches) handle(running *watch) {
	notify := func(o any) { w.notify(running, o) }
	_, _ = running.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify,
		UpdateFunc: func(was, is any) {
			if notify(is); relabeled(was, is) {
				notify(was) // some may not name it any more
			}
		},
		DeleteFunc: func(o any) {
			if object, ok := index.Object[metav1.Object](o); ok {
				running.room.drop(object.GetUID())
			}
			notify(o)
		},
	})
}

func relabeled(was, is any) bool {
	before, _ := index.Object[metav1.Object](was)
	after, _ := index.Object[metav1.Object](is)
	return before == nil || after == nil || !maps.Equal(before.GetLabels(), after.GetLabels())
}

// keep is the transformer of the informer, which calls it more than once.
func (r *watch) keep(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	if len(r.namers.Of(u)) == 0 {
		r.room.drop(u.GetUID())
		return stubOf(u, 0), nil
	}
	deployed.Slim(u)
	if bytes := bounded.Size(u); !r.room.take(u.GetUID(), bytes) {
		return stubOf(u, bytes), nil
	}
	return u, nil
}

func (r *watch) complete(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = max(1, now.Sub(r.began))
}

// set returns how many Environments use the watch.
func (r *watch) set(environment types.NamespacedName, workloads []v1alpha1.Workload) int {
	r.namers.Set(environment, selectionsOf(workloads))
	return r.namers.Len()
}

func selectionsOf(workloads []v1alpha1.Workload) []deployed.Selection {
	all := make([]deployed.Selection, 0, len(workloads))
	for _, w := range workloads {
		all = append(all, deployed.SelectionOf(w))
	}
	return all
}

// objects returns those that a selection may have: unstructured ones, and stubs.
func (r *watch) objects(selection deployed.Selection) []any {
	name, byName := selection.Name()
	if !byName {
		return r.informer.GetStore().List()
	}
	if o, found, err := r.informer.GetStore().GetByKey(r.source.Namespace + "/" + name); err == nil && found {
		return []any{o}
	}
	return nil
}

// find returns the objects that a selection has, and the stub of one that is missing: it was not named when the watch saw it, or there was no
// room.
func (r *watch) find(selection deployed.Selection) (all []*unstructured.Unstructured, missing *stub) {
	for _, o := range r.objects(selection) {
		switch o := o.(type) {
		case *unstructured.Unstructured:
			all = append(all, o)
		case *stub:
			if selection.Has(o) && (missing == nil || o.Name < missing.Name) {
				missing = o
			}
		}
	}
	return all, missing
}

const (
	// briefly is how long a watch may fail before it is a problem: API servers restart.
	briefly = 30 * time.Second

	// quietly is how long after the last failure it is none any more: a watch that works again may have nothing to say.
	quietly = time.Minute
)

// failed notes why a request failed, and reports whether that is a new problem.
func (r *watch) failed(err error, now time.Time) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == nil || now.Sub(r.last) > quietly {
		r.first = now
	}
	changed = r.problem == nil || !r.lasts()
	r.problem, r.synced, r.last = err, r.informer.LastSyncResourceVersion(), now
	return changed && r.lasts()
}

// lasts is at once for what only people change.
func (r *watch) lasts() bool {
	return apierrors.IsForbidden(r.problem) || apierrors.IsNotFound(r.problem) || r.last.Sub(r.first) >= briefly
}

// failure is nil once the informer has listed again.
func (r *watch) failure(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == nil || !r.lasts() {
		return nil
	}
	brief := !apierrors.IsForbidden(r.problem) && !apierrors.IsNotFound(r.problem)
	if r.informer.LastSyncResourceVersion() != r.synced || brief && now.Sub(r.last) > quietly {
		r.problem = nil
	}
	return r.problem
}
