package deployed

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// Workloads are what all need who read the objects that Environments name.
type Workloads struct {
	client      dynamic.Interface
	kinds       *kinds
	expressions *keptExpressions
}

// NewWorkloads returns those of a manager's cluster.
func NewWorkloads(mgr ctrl.Manager, clock clock.PassiveClock) (*Workloads, error) {
	client, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create the client of workloads: %w", err)
	}
	cluster, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create the client of kinds: %w", err)
	}
	return &Workloads{client: client, kinds: &kinds{cluster: cluster, clock: clock}, expressions: newKeptExpressions()}, nil
}

// reading is of the workloads of one Environment.
type reading struct {
	environment *v1alpha1.Environment
	team        *v1alpha1.Team // nil: there is none
	expressions *workloads.Expressions
}

// lookup returns the objects of a source that a selection has, and perhaps others, and why not all are known, as a sentence.
type lookup func(workloads.Source, workloads.Selection) (all []*unstructured.Unstructured, problem string, err error)

// find returns what a workload means: objects, or a problem.
func (r reading) find(w v1alpha1.Workload, look lookup) (all []workloads.Found, err error) {
	f := workloads.Found{Workload: w, Source: workloads.SourceOf(r.environment, w), Expressions: r.expressions}
	if f.Problem = workloads.Allowed(r.team, f.Source, r.environment, w.Name); f.Problem != "" {
		return []workloads.Found{f}, nil
	}
	selection := workloads.SelectionFor(r.environment, r.team, w)
	objects, problem, err := look(f.Source, selection)
	for _, o := range objects {
		if selection.Has(o) {
			own := f
			own.Object = o
			all = append(all, own)
		}
	}
	if f.Problem = problem; problem == "" && len(all) == 0 {
		f.Problem = workloads.NothingFound(w, f.Source)
	}
	if f.Problem != "" {
		all = append(all, f)
	}
	return all, err
}

// maxExpressionBytes are those of a namespace that are kept compiled, which takes some 2.5 MiB: one Environment has 60 KiB at most, and a
// hundred that people write have 20. The expressions of others are compiled whenever they are evaluated.
const maxExpressionBytes = 64 << 10

// keptExpressions are those of Environments, of their last generation.
type keptExpressions struct {
	mu            sync.Mutex
	byEnvironment map[types.NamespacedName]kept
	bytes         map[string]int // by namespace
}

type kept struct {
	uid         types.UID
	generation  int64
	bytes       int
	expressions *workloads.Expressions
}

func newKeptExpressions() *keptExpressions {
	return &keptExpressions{byEnvironment: map[types.NamespacedName]kept{}, bytes: map[string]int{}}
}

// of returns those of an Environment, which it keeps until forget. Beyond the bound of its namespace, they last for one reading.
func (k *keptExpressions) of(e *v1alpha1.Environment) *workloads.Expressions {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
	if was, found := k.byEnvironment[name]; found && was.uid == e.UID && was.generation == e.Generation {
		return was.expressions
	}
	k.drop(name)
	is := kept{e.UID, e.Generation, workloads.ExpressionBytes(e), workloads.NewExpressions()}
	if is.bytes > 0 && k.bytes[e.Namespace]+is.bytes <= maxExpressionBytes {
		k.byEnvironment[name] = is
		k.bytes[e.Namespace] += is.bytes
	}
	return is.expressions
}

// known returns those of an Environment, and keeps none.
func (k *keptExpressions) known(e *v1alpha1.Environment) *workloads.Expressions {
	k.mu.Lock()
	defer k.mu.Unlock()
	if is, found := k.byEnvironment[types.NamespacedName{Namespace: e.Namespace, Name: e.Name}]; found && is.uid == e.UID && is.generation == e.Generation {
		return is.expressions
	}
	return workloads.NewExpressions()
}

// forget is for an Environment that is gone.
func (k *keptExpressions) forget(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(name)
}

func (k *keptExpressions) drop(name types.NamespacedName) {
	if k.bytes[name.Namespace] -= k.byEnvironment[name].bytes; k.bytes[name.Namespace] == 0 {
		delete(k.bytes, name.Namespace)
	}
	delete(k.byEnvironment, name)
}
