package deployed

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// watch is an informer that runs. It keeps what is read of objects that an Environment names, and stubs of the others.
type watch struct {
	source   workloads.Source
	resource schema.GroupVersionResource
	namers   *workloads.Namers // Environments
	room     *bounded.Share
	informer cache.SharedIndexInformer
	ctx      context.Context
	stop     context.CancelFunc
	stale    atomic.Bool // it may keep objects that no Environment names any more

	mu          sync.Mutex
	fetched     map[string]uint64 // versions of objects that were not read by the informer, which may be behind them
	loaded      time.Duration     // how long the first list took; 0: it is not complete
	reloads     bool              // another watch is about to take over
	problem     error             // why the last request failed; nil: it did not
	synced      string            // the resource version that the informer had then
	first, last time.Time         // failures of a row
}

// stub is what is kept of an object that no Environment names, or that has no room.
type stub struct {
	metav1.PartialObjectMetadata
	bytes int64 // of the object; 0: no Environment names it
	cut   bool  // it had more labels
}

// maxStubLabels are enough for 20 labels. A selector that an Environment gets later finds an object with more after its next change.
const maxStubLabels = 2 << 10

func stubOf(o *unstructured.Unstructured, bytes int64) *stub {
	s := &stub{bytes: bytes}
	s.Name, s.Namespace, s.UID, s.ResourceVersion = o.GetName(), o.GetNamespace(), o.GetUID(), o.GetResourceVersion()
	all := len(o.GetLabels())
	s.Labels = workloads.SlimLabels(o.GetLabels(), maxStubLabels)
	s.cut = len(s.Labels) < all
	return s
}

// DeepCopyObject implements runtime.Object.
func (s *stub) DeepCopyObject() runtime.Object {
	return &stub{PartialObjectMetadata: *s.DeepCopy(), bytes: s.bytes, cut: s.cut}
}

// begin starts a watch for those who name objects of the source.
func (w *watches) begin(s workloads.Source, resource schema.GroupVersionResource, namers *workloads.Namers) *watch {
	running := w.start(&watch{source: s, resource: resource, namers: namers, room: w.rooms.Share()})
	go func() {
		if running.wait(w.clock) {
			w.notify(running, nil) // those that asked before wait for it
		}
	}()
	return running
}

func (w *watches) start(running *watch) *watch {
	running.informer = dynamicinformer.NewFilteredDynamicInformer(w.client, running.resource, running.source.Namespace, 0, cache.Indexers{},
		nil).Informer()
	_ = running.informer.SetTransform(running.keep) // it fails only if the informer has started
	_ = running.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if running.failed(err, w.clock.Now()) {
			w.notify(running, nil)
		}
	})
	w.handle(running)
	running.ctx, running.stop = context.WithCancel(w.ctx)
	go running.informer.RunWithContext(running.ctx)
	return running
}

// wait reports whether all objects were listed before the watch was stopped.
func (r *watch) wait(clock clock.PassiveClock) bool {
	began := clock.Now()
	if !cache.WaitForCacheSync(r.ctx.Done(), r.informer.HasSynced) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = max(1, clock.Since(began))
	return true
}

func (w *watches) handle(running *watch) {
	notify := func(o any) { w.notify(running, o) }
	_, _ = running.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify,
		UpdateFunc: func(old, updated any) {
			if notify(updated); relabeled(old, updated) {
				notify(old) // some may not name it any more
			}
		},
		DeleteFunc: func(o any) {
			if object, ok := index.Object[client.Object](o); ok {
				running.room.Drop(client.ObjectKeyFromObject(object), object.GetUID())
			}
			notify(o)
		},
	})
}

func relabeled(old, updated any) bool {
	before, _ := index.Object[metav1.Object](old)
	after, _ := index.Object[metav1.Object](updated)
	return before == nil || after == nil || !maps.Equal(before.GetLabels(), after.GetLabels())
}

// keep is the transformer of the informer, which calls it more than once.
func (r *watch) keep(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	if newer := r.newer(u); newer != nil {
		return newer, nil
	}
	workloads.Slim(u)
	namers := r.namers.Of(u)
	if len(namers) == 0 {
		r.room.Drop(client.ObjectKeyFromObject(u), u.GetUID())
		return stubOf(u, 0), nil
	}
	var namespaces []string // in a stable order
	for _, environment := range namers {
		namespaces = append(namespaces, environment.Namespace)
	}
	if bytes := bounded.Size(u); !r.room.Take(client.ObjectKeyFromObject(u), u.GetUID(), bytes, slices.Compact(namespaces)...) {
		return stubOf(u, bytes), nil
	}
	return u, nil
}

// objects returns those that a selection may have: unstructured ones, and stubs.
func (r *watch) objects(selection workloads.Selection) []any {
	name, byName := selection.Name()
	if !byName {
		return r.informer.GetStore().List()
	}
	if o, found, err := r.informer.GetStore().GetByKey(r.source.Namespace + "/" + name); err == nil && found {
		return []any{o}
	}
	return nil
}

// find returns the first objects that a selection has, by name, and the stub of one among them that is missing: it was not named when the
// watch saw it, or there was no room.
func (r *watch) find(selection workloads.Selection) (all []*unstructured.Unstructured, missing *stub) {
	var found []metav1.Object
	_, byName := selection.Name()
	for _, o := range r.objects(selection) {
		s, isStub := o.(*stub)
		if o := o.(metav1.Object); selection.Has(o) && (byName || !isStub || !s.cut) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b metav1.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, o := range found[:min(len(found), workloads.MaxWorkloads+1)] {
		switch o := o.(type) {
		case *unstructured.Unstructured:
			all = append(all, o)
		case *stub:
			missing = cmp.Or(missing, o)
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
