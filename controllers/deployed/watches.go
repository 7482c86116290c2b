package deployed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployed"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// watches are informers of the kinds and namespaces that some Environment names, and of no others. They are a Runnable of the leader.
type watches struct {
	client dynamic.Interface
	mapper meta.RESTMapper
	clock  clock.PassiveClock

	mu      sync.Mutex
	ctx     context.Context // nil before Start
	queue   queue           // of Environments; nil before feed
	sources map[deployed.Source]*watch
	wanted  map[types.NamespacedName][]interest
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// interest is what an Environment wants to know of a source.
type interest struct {
	source   deployed.Source
	workload v1alpha1.Workload
}

// watch is an informer that runs.
type watch struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	users    map[types.NamespacedName]bool

	mu          sync.Mutex
	problem     error     // why the last request failed; nil: it did not
	synced      string    // the resource version that the informer had then
	first, last time.Time // failures of a row
}

func newWatches(client dynamic.Interface, mapper meta.RESTMapper, clock clock.PassiveClock) *watches {
	return &watches{client: client, mapper: mapper, clock: clock, sources: map[deployed.Source]*watch{}, wanted: map[types.NamespacedName][]interest{}}
}

// Start lets watches begin, and ends them with the context.
func (w *watches) Start(ctx context.Context) error {
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}

// feed is a source of requests.
func (w *watches) feed(_ context.Context, q queue) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

// want begins to watch what an Environment names, and stops watching what nobody names any more.
func (w *watches) want(environment types.NamespacedName, wanted []interest) {
	resources := w.resources(wanted)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return // it starts soon, and read says so
	}
	before := w.wanted[environment]
	if !reflect.DeepEqual(before, wanted) {
		w.tellOthers(environment, slices.Concat(before, wanted))
	}
	if w.wanted[environment] = wanted; len(wanted) == 0 {
		delete(w.wanted, environment)
	}
	for _, i := range wanted {
		if resource, known := resources[i.source]; known && w.sources[i.source] == nil {
			w.sources[i.source] = w.begin(i.source, resource)
		}
		if running := w.sources[i.source]; running != nil {
			running.users[environment] = true
		}
	}
	for _, i := range before {
		running := w.sources[i.source]
		if running == nil || slices.ContainsFunc(wanted, func(o interest) bool { return o.source == i.source }) {
			continue
		}
		if delete(running.users, environment); len(running.users) == 0 {
			running.stop()
			delete(w.sources, i.source)
		}
	}
}

// tellOthers reconciles the other Environments of a namespace that use a source: what they share may have changed.
func (w *watches) tellOthers(environment types.NamespacedName, changed []interest) {
	for _, i := range changed {
		running := w.sources[i.source]
		if running == nil || w.queue == nil {
			continue
		}
		for other := range running.users {
			if other.Namespace == environment.Namespace && other != environment {
				w.queue.AddAfter(ctrl.Request{NamespacedName: other}, startingEvery)
			}
		}
	}
}

// namedBy returns the other Environments of a namespace that name an object. Those of other namespaces belong to other teams.
func (w *watches) namedBy(environment types.NamespacedName, s deployed.Source, o *unstructured.Unstructured) (others []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	running := w.sources[s]
	if running == nil {
		return nil
	}
	for other := range running.users {
		means := func(i interest) bool { return i.source == s && deployed.Selects(i.workload, o) }
		if other.Namespace == environment.Namespace && other != environment && slices.ContainsFunc(w.wanted[other], means) {
			others = append(others, other.Name)
		}
	}
	slices.Sort(others)
	return others
}

// resources asks the API server for what it does not know, and leaves out what the cluster lacks.
func (w *watches) resources(wanted []interest) map[deployed.Source]schema.GroupVersionResource {
	all := map[deployed.Source]schema.GroupVersionResource{}
	for _, i := range wanted {
		mapping, err := w.mapper.RESTMapping(i.source.GroupKind(), i.source.Version)
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			all[i.source] = mapping.Resource
		}
	}
	return all
}

func (w *watches) begin(s deployed.Source, resource schema.GroupVersionResource) *watch {
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, resource, s.Namespace, 0, cache.Indexers{}, nil).Informer()
	running := &watch{informer: informer, users: map[types.NamespacedName]bool{}}
	_ = informer.SetTransform(func(o any) (any, error) { // it fails only if the informer has started
		if u, ok := o.(*unstructured.Unstructured); ok {
			deployed.Slim(u)
		}
		return o, nil
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if running.failed(err, w.clock.Now()) {
			w.notify(s, nil)
		}
	})
	notify := func(o any) { w.notify(s, o) }
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify,
	})
	var ctx context.Context
	ctx, running.stop = context.WithCancel(w.ctx)
	go informer.RunWithContext(ctx)
	return running
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

// notify reconciles the Environments that mean an object; nil: all of the source.
func (w *watches) notify(s deployed.Source, o any) {
	object, _ := index.Object[*unstructured.Unstructured](o)
	w.mu.Lock()
	defer w.mu.Unlock()
	running := w.sources[s]
	if running == nil || w.queue == nil {
		return
	}
	for environment := range running.users {
		means := func(i interest) bool { return i.source == s && (object == nil || deployed.Selects(i.workload, object)) }
		if slices.ContainsFunc(w.wanted[environment], means) {
			w.queue.Add(ctrl.Request{NamespacedName: environment})
		}
	}
}

// read returns the objects of a source, or why they are not known, as a sentence.
func (w *watches) read(s deployed.Source) (all []*unstructured.Unstructured, problem string, err error) {
	w.mu.Lock()
	running, started := w.sources[s], w.ctx != nil
	w.mu.Unlock()
	switch {
	case !started:
		return nil, "", errStarting
	case running == nil:
		return nil, unknown(w.mapper, s), nil
	}
	if err := running.failure(w.clock.Now()); err != nil {
		return nil, explain(s, err), nil
	}
	if !running.informer.HasSynced() {
		return nil, "", errStarting
	}
	for _, o := range running.informer.GetStore().List() {
		all = append(all, o.(*unstructured.Unstructured))
	}
	return all, "", nil
}

// errStarting says that nothing is known yet.
var errStarting = errors.New("the workloads are being read")

func unknown(mapper meta.RESTMapper, s deployed.Source) string {
	mapping, err := mapper.RESTMapping(s.GroupKind(), s.Version)
	switch {
	case meta.IsNoMatchError(err):
		return deployed.NoKind(s)
	case err != nil:
		return fmt.Sprintf("It cannot be found out whether the cluster has the kind %s: %s.", s.Kind, err)
	default:
		return deployed.NotNamespaced(s, string(mapping.Scope.Name()))
	}
}

// explain says how to give the manager a right that it lacks.
func explain(s deployed.Source, err error) string {
	if !apierrors.IsForbidden(err) {
		return fmt.Sprintf("The watch of the kind %s in namespace %s fails, and is tried again: %s.", s.Kind, s.Namespace, strings.TrimSuffix(err.Error(), "."))
	}
	return deployed.MayNotRead(s)
}
