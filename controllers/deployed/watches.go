package deployed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	*Workloads
	clock clock.PassiveClock

	mu      sync.RWMutex
	ctx     context.Context // nil before Start
	queue   queue           // of Environments; nil before feed
	sources map[deployed.Source]*watch
	wanted  map[types.NamespacedName]interests
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// interests are what an Environment names, by their sources.
type interests map[deployed.Source][]v1alpha1.Workload

// watch is an informer that runs.
type watch struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc

	mu          sync.Mutex
	namers      *deployed.Namers // some
	problem     error            // why the last request failed; nil: it did not
	synced      string           // the resource version that the informer had then
	first, last time.Time        // failures of a row
}

func newWatches(workloads *Workloads, clock clock.PassiveClock) *watches {
	return &watches{Workloads: workloads, clock: clock, sources: map[deployed.Source]*watch{}, wanted: map[types.NamespacedName]interests{}}
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
func (w *watches) want(ctx context.Context, environment types.NamespacedName, wanted interests) {
	resources := w.resources(ctx, wanted)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return // it starts soon, and read says so
	}
	before := w.wanted[environment]
	changed := !reflect.DeepEqual(before, wanted)
	if w.wanted[environment] = wanted; len(wanted) == 0 {
		delete(w.wanted, environment)
	}
	for s, workloads := range wanted {
		running, begun := w.sources[s], false
		if resource, known := resources[s]; known && running == nil {
			running, begun = w.begin(s, resource), true
			w.sources[s] = running
		}
		if running != nil && (begun || changed) {
			w.tellOthers(environment, running)
			running.set(environment, workloads)
		}
	}
	for s := range before {
		running := w.sources[s]
		if running == nil || len(wanted[s]) > 0 {
			continue
		}
		w.tellOthers(environment, running)
		if left := running.set(environment, nil); left == 0 {
			running.stop()
			delete(w.sources, s)
		}
	}
}

// tellOthers reconciles the other Environments of a namespace that use a source: what they share may have changed.
func (w *watches) tellOthers(environment types.NamespacedName, running *watch) {
	if w.queue == nil {
		return
	}
	for _, other := range running.all() {
		if other.Namespace == environment.Namespace && other != environment {
			w.queue.AddAfter(ctrl.Request{NamespacedName: other}, startingEvery)
		}
	}
}

// set returns how many Environments use the watch.
func (r *watch) set(environment types.NamespacedName, workloads []v1alpha1.Workload) int {
	selections := make([]deployed.Selection, 0, len(workloads))
	for _, w := range workloads {
		selections = append(selections, deployed.SelectionOf(w))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namers.Set(environment, selections)
	return r.namers.Len()
}

func (r *watch) all() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namers.All()
}

// namersOf returns the Environments that name an object, of any team.
func (r *watch) namersOf(o *unstructured.Unstructured) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namers.Of(o)
}

// namedBy returns the other Environments of a namespace that name an object. Those of other namespaces belong to other teams.
func (w *watches) namedBy(environment types.NamespacedName, s deployed.Source, o *unstructured.Unstructured) (others []string) {
	running := w.source(s)
	if running == nil {
		return nil
	}
	for _, other := range running.namersOf(o) {
		if other.Namespace == environment.Namespace && other != environment {
			others = append(others, other.Name)
		}
	}
	return others
}

func (w *watches) source(s deployed.Source) *watch {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.sources[s]
}

// resources asks the API server for what it does not know, and leaves out what the cluster lacks.
func (w *watches) resources(ctx context.Context, wanted interests) map[deployed.Source]schema.GroupVersionResource {
	all := map[deployed.Source]schema.GroupVersionResource{}
	for s := range wanted {
		if resource, problem, err := w.kinds.find(ctx, s); problem == "" && err == nil {
			all[s] = resource
		}
	}
	return all
}

func (w *watches) begin(s deployed.Source, resource schema.GroupVersionResource) *watch {
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, resource, s.Namespace, 0, cache.Indexers{}, nil).Informer()
	running := &watch{informer: informer, namers: deployed.NewNamers()}
	_ = informer.SetTransform(func(o any) (any, error) { // it fails only if the informer has started
		if u, ok := o.(*unstructured.Unstructured); ok {
			deployed.Slim(u)
		}
		return o, nil
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if running.failed(err, w.clock.Now()) {
			w.notify(running, nil)
		}
	})
	notify := func(o any) { w.notify(running, o) }
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, DeleteFunc: notify, UpdateFunc: func(was, is any) {
			if notify(is); relabeled(was, is) {
				notify(was) // some may not name it any more
			}
		},
	})
	var ctx context.Context
	ctx, running.stop = context.WithCancel(w.ctx)
	go informer.RunWithContext(ctx)
	return running
}

func relabeled(was, is any) bool {
	before, _ := index.Object[*unstructured.Unstructured](was)
	after, _ := index.Object[*unstructured.Unstructured](is)
	return before == nil || after == nil || !maps.Equal(before.GetLabels(), after.GetLabels())
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

// notify reconciles the Environments that name an object; nil: all that use the watch.
func (w *watches) notify(running *watch, o any) {
	w.mu.RLock()
	queue := w.queue
	w.mu.RUnlock()
	if queue == nil {
		return
	}
	namers := running.all
	if object, ok := index.Object[*unstructured.Unstructured](o); ok {
		namers = func() []types.NamespacedName { return running.namersOf(object) }
	}
	for _, environment := range namers() {
		queue.Add(ctrl.Request{NamespacedName: environment})
	}
}

// read returns the objects of a source that a workload may mean, or why they are not known, as a sentence.
func (w *watches) read(ctx context.Context, s deployed.Source, selection deployed.Selection) (all []*unstructured.Unstructured, problem string, err error) {
	w.mu.RLock()
	running, started := w.sources[s], w.ctx != nil
	w.mu.RUnlock()
	switch {
	case !started:
		return nil, "", errStarting
	case running == nil:
		problem, err = w.unknown(ctx, s)
		return nil, problem, err
	}
	if err := running.failure(w.clock.Now()); err != nil {
		return nil, explain(s, err), nil
	}
	if !running.informer.HasSynced() {
		return nil, "", errStarting
	}
	for _, o := range running.objects(s.Namespace, selection) {
		all = append(all, o.(*unstructured.Unstructured))
	}
	return all, "", nil
}

func (r *watch) objects(namespace string, selection deployed.Selection) []any {
	name, byName := selection.Name()
	if !byName {
		return r.informer.GetStore().List()
	}
	if o, found, err := r.informer.GetStore().GetByKey(namespace + "/" + name); err == nil && found {
		return []any{o}
	}
	return nil
}

// errStarting says that nothing is known yet.
var errStarting = errors.New("the workloads are being read")

// unknown says why there is no watch.
func (w *watches) unknown(ctx context.Context, s deployed.Source) (problem string, err error) {
	_, problem, err = w.kinds.find(ctx, s)
	switch {
	case err != nil:
		return fmt.Sprintf("It cannot be found out whether the cluster has the kind %s: %s.", s.Kind, strings.TrimSuffix(err.Error(), ".")), nil
	case problem == "":
		return "", errStarting // the kind was installed a moment ago
	default:
		return problem, nil
	}
}

// explain says how to give the manager a right that it lacks.
func explain(s deployed.Source, err error) string {
	if !apierrors.IsForbidden(err) {
		return fmt.Sprintf("The watch of the kind %s in namespace %s fails, and is tried again: %s.", s.Kind, s.Namespace, strings.TrimSuffix(err.Error(), "."))
	}
	return deployed.MayNotRead(s)
}
