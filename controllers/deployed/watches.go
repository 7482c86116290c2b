package deployed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// watches are informers of the kinds and namespaces that some Environment names, and of no others. They are a Runnable of the leader.
type watches struct {
	*Workloads
	clock clock.PassiveClock
	rooms *bounded.Room // by the namespaces of the Environments that name objects, wherever these are

	mu      sync.RWMutex
	ctx     context.Context // nil before Start
	queue   queue           // of Environments; nil before feed
	sources map[workloads.Source]*watch
	wanted  map[types.NamespacedName]interests
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// roomBytes bounds the memory of the workloads that Environments of a namespace name: a Deployment takes some 8 KiB, so these are 1,000.
const roomBytes = 8 << 20

// interests are what an Environment names, by their sources.
type interests map[workloads.Source][]workloads.Selection

func newWatches(shared *Workloads, clock clock.PassiveClock) *watches {
	return &watches{
		Workloads: shared, clock: clock, rooms: bounded.NewRoom(roomBytes),
		sources: map[workloads.Source]*watch{}, wanted: map[types.NamespacedName]interests{},
	}
}

// Start lets watches begin, and ends them with the context.
func (w *watches) Start(ctx context.Context) error {
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	w.kinds.look(ctx) // before an Environment waits for it
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

// want begins to watch what an Environment names, and stops watching what no Environment names any more.
func (w *watches) want(environment types.NamespacedName, wanted interests) {
	resources := w.resources(wanted)
	for _, c := range w.exchange(environment, wanted, resources) {
		c.stale.Store(true)
		w.tellOthers(environment, c)
	}
}

// changed is a watch with an Environment that names other objects than before.
type changed struct {
	*watch
	selections []workloads.Selection // before and now
}

func (w *watches) exchange(
	environment types.NamespacedName, wanted interests, resources map[workloads.Source]schema.GroupVersionResource,
) (all []changed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return nil // it starts soon, and read says so
	}
	before := w.wanted[environment]
	if w.wanted[environment] = wanted; len(wanted) == 0 {
		delete(w.wanted, environment)
	}
	for s, selections := range wanted {
		running := w.sources[s]
		if resource, known := resources[s]; known && running == nil {
			namers := workloads.NewNamers()
			namers.Set(environment, selections)
			w.sources[s] = w.begin(s, resource, namers)
		} else if running != nil && (!running.namers.Has(environment) || !reflect.DeepEqual(before[s], selections)) {
			running.namers.Set(environment, selections)
			all = append(all, changed{running, slices.Concat(before[s], selections)})
		}
	}
	for s, selections := range before {
		running := w.sources[s]
		if running == nil || len(wanted[s]) > 0 {
			continue
		}
		if running.namers.Set(environment, nil); running.namers.Len() > 0 {
			all = append(all, changed{running, selections})
			continue
		}
		running.stop()
		running.room.Close()
		delete(w.sources, s)
	}
	return all
}

// tellOthers reconciles the other Environments of a namespace that name the same objects: what they say of it may have changed.
func (w *watches) tellOthers(environment types.NamespacedName, c changed) {
	others := map[types.NamespacedName]bool{}
	for _, selection := range c.selections {
		objects, _ := c.find(selection)
		for _, o := range objects {
			for _, other := range c.namers.Of(o) {
				others[other] = true
			}
		}
	}
	for other := range others {
		if queue := w.requests(); queue != nil && other.Namespace == environment.Namespace && other != environment {
			queue.AddAfter(ctrl.Request{NamespacedName: other}, startingEvery)
		}
	}
}

func (w *watches) requests() queue {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.queue
}

// namedBy returns the other Environments of a namespace that name an object. Those of other namespaces belong to other teams.
func (w *watches) namedBy(environment types.NamespacedName, s workloads.Source, o *unstructured.Unstructured) (others []string) {
	running := w.source(s)
	if running == nil {
		return nil
	}
	for _, other := range running.namers.Of(o) {
		if other.Namespace == environment.Namespace && other != environment {
			others = append(others, other.Name)
		}
	}
	return others
}

func (w *watches) source(s workloads.Source) *watch {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.sources[s]
}

// resources leaves out what the cluster lacks, or may lack.
func (w *watches) resources(wanted interests) map[workloads.Source]schema.GroupVersionResource {
	all := map[workloads.Source]schema.GroupVersionResource{}
	for s := range wanted {
		if resource, problem, err := w.kinds.findSoon(w.context(), s); problem == "" && err == nil {
			all[s] = resource
		}
	}
	return all
}

// context is nil before Start.
func (w *watches) context() context.Context {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.ctx
}

// notify reconciles the Environments that name an object; nil: all that use the watch.
func (w *watches) notify(running *watch, o any) {
	queue := w.requests()
	if queue == nil {
		return
	}
	namers := running.namers.All
	if object, ok := index.Object[metav1.Object](o); ok {
		namers = func() []types.NamespacedName { return running.namers.Of(object) }
	}
	for _, environment := range namers() {
		queue.Add(ctrl.Request{NamespacedName: environment})
	}
}

// read is a lookup of the first objects, for an Environment of the namespace.
func (w *watches) read(
	namespace string, s workloads.Source, selection workloads.Selection,
) (all []*unstructured.Unstructured, problem string, err error) {
	running := w.source(s)
	switch {
	case w.context() == nil:
		return nil, "", errStarting
	case running == nil:
		problem, err = w.unknown(s)
		return nil, problem, err
	}
	if err := running.failure(w.clock.Now()); err != nil {
		return nil, explain(s, err), nil
	}
	if !running.informer.HasSynced() {
		return nil, "", errStarting
	}
	all, missing := running.find(selection)
	switch {
	case missing == nil:
		return all, "", nil
	case missing.bytes > 0 && !w.rooms.Has(namespace, missing.bytes):
		w.reloadStale()
		return all, tooLarge(s, missing, namespace), nil
	}
	if name, byName := selection.Name(); byName {
		if object, fetched := w.fetch(running, name); object != nil {
			return []*unstructured.Unstructured{object}, "", nil
		} else if fetched {
			return nil, "", nil
		}
	}
	w.reloadSoon(running)
	return nil, "", errStarting
}

// errStarting says that nothing is known yet.
var errStarting = errors.New("the workloads are being read")

// unknown says why there is no watch.
func (w *watches) unknown(s workloads.Source) (problem string, err error) {
	_, problem, err = w.kinds.findSoon(w.context(), s)
	switch {
	case errors.Is(err, errStarting):
		return "", err
	case err != nil:
		return fmt.Sprintf("It cannot be found out whether the cluster has the kind %s: %s.", s.Kind, strings.TrimSuffix(err.Error(), ".")), nil
	case problem == "":
		return "", errStarting // the kind was installed a moment ago
	default:
		return problem, nil
	}
}

// explain says how to give the manager a right that it lacks.
func explain(s workloads.Source, err error) string {
	if !apierrors.IsForbidden(err) {
		return fmt.Sprintf("The watch of the kind %s in namespace %s fails, and is tried again: %s.", s.Kind, s.Namespace,
			strings.TrimSuffix(err.Error(), "."))
	}
	return workloads.MayNotRead(s)
}

func tooLarge(s workloads.Source, o *stub, namespace string) string {
	return fmt.Sprintf("The %s %s takes %d KiB of the manager's memory, and the workloads that Environments of the namespace %s name may "+
		"take %d together. "+
		"Name fewer, or make them smaller.", s.Kind, o.Name, o.bytes>>10, namespace, roomBytes>>10)
}
