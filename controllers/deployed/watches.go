package deployed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	rooms *rooms

	mu      sync.RWMutex
	ctx     context.Context // nil before Start
	queue   queue           // of Environments; nil before feed
	sources map[deployed.Source]*watch
	wanted  map[types.NamespacedName]interests
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// interests are what an Environment names, by their sources.
type interests map[deployed.Source][]v1alpha1.Workload

func newWatches(workloads *Workloads, clock clock.PassiveClock) *watches {
	return &watches{Workloads: workloads, clock: clock, rooms: newRooms(), sources: map[deployed.Source]*watch{}, wanted: map[types.NamespacedName]interests{}}
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
		running := w.sources[s]
		if resource, known := resources[s]; known && running == nil {
			namers := deployed.NewNamers()
			namers.Set(environment, selectionsOf(workloads))
			w.sources[s] = w.begin(s, resource, namers)
		}
		if running != nil && changed {
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
	for _, other := range running.namers.All() {
		if other.Namespace == environment.Namespace && other != environment {
			w.queue.AddAfter(ctrl.Request{NamespacedName: other}, startingEvery)
		}
	}
}

// namedBy returns the other Environments of a namespace that name an object. Those of other namespaces belong to other teams.
func (w *watches) namedBy(environment types.NamespacedName, s deployed.Source, o *unstructured.Unstructured) (others []string) {
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

// notify reconciles the Environments that name an object; nil: all that use the watch.
func (w *watches) notify(running *watch, o any) {
	w.mu.RLock()
	queue := w.queue
	w.mu.RUnlock()
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
	all, missing := running.find(selection)
	switch {
	case missing == nil || len(all) > deployed.MaxWorkloads: // no more count, and they came first
		return all, "", nil
	case missing.bytes == 0 || running.room.hasFor(missing.bytes):
		w.reloadSoon(running)
		return nil, "", errStarting
	default:
		return nil, tooLarge(s, missing), nil
	}
}

const (
	// reloadAfter lets the Environments of a burst name their objects before these are read.
	reloadAfter = time.Second

	// reloadPause makes reading them at most a tenth of what a watch does, however often somebody names others.
	reloadPause = 10
)

// reloadSoon begins a watch again, because some of its objects are missing.
func (w *watches) reloadSoon(running *watch) {
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.reloads {
		return
	}
	running.reloads = true
	time.AfterFunc(max(reloadAfter, reloadPause*running.loaded), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.sources[running.source] == running && w.ctx.Err() == nil {
			running.stop()
			w.sources[running.source] = w.begin(running.source, running.resource, running.namers)
		}
	})
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
