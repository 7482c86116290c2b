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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
)

// Workloads is what the Reconciler and the Reader share to read the objects that Environments name.
type Workloads struct {
	client      dynamic.Interface
	kinds       *kinds
	expressions *keptExpressions
	recent      *recentDigests
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
	return &Workloads{
		client: client, kinds: &kinds{cluster: cluster, clock: clock}, expressions: newKeptExpressions(), recent: newRecentDigests(),
	}, nil
}

// finder finds the objects that the workloads of one Environment mean.
type finder struct {
	environment *v1alpha1.Environment
	team        *v1alpha1.Team // nil: there is none
	expressions *workloads.Expressions
}

// lookup returns the objects of a source that a selection has, and perhaps others. The problem is a sentence that says why not all are
// known.
type lookup func(w v1alpha1.Workload, s workloads.Source, selection workloads.Selection) (all []*unstructured.Unstructured, problem string,
	err error)

// findAll returns what each workload of the Environment means.
func (r finder) findAll(look lookup) (all []workloads.Found, err error) {
	for _, w := range r.environment.Spec.Workloads {
		found, err := r.find(w, look)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// find returns what a workload means: objects, or a problem.
func (r finder) find(w v1alpha1.Workload, look lookup) (all []workloads.Found, err error) {
	f := workloads.Found{Workload: w, Source: workloads.SourceOf(r.environment, w), Expressions: r.expressions}
	if f.Problem = workloads.Allowed(r.team, f.Source, r.environment, w.Name); f.Problem != "" {
		return []workloads.Found{f}, nil
	}
	selection := workloads.SelectionFor(r.environment, r.team, w)
	objects, problem, err := look(w, f.Source, selection)
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

// expressionBytes bounds the expressions of a namespace that are kept compiled, which takes some 2.5 MiB: one Environment has 60 KiB at
// most, and a hundred that people write have 20. The expressions of others are compiled whenever they are evaluated.
const expressionBytes = 64 << 10

// keptExpressions are those of Environments, of their last generation.
type keptExpressions struct {
	mu            sync.Mutex
	byEnvironment map[types.NamespacedName]kept
	share         *bounded.Share
}

type kept struct {
	uid         types.UID
	generation  int64
	expressions *workloads.Expressions
}

func newKeptExpressions() *keptExpressions {
	return &keptExpressions{byEnvironment: map[types.NamespacedName]kept{}, share: bounded.NewRoom(expressionBytes).Share()}
}

// get returns those of an Environment, and keeps them until forget. Beyond the bound of its namespace, they last for one reading.
func (k *keptExpressions) get(e *v1alpha1.Environment) *workloads.Expressions {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := client.ObjectKeyFromObject(e)
	cached, found := k.byEnvironment[name]
	if found && cached.uid == e.UID && cached.generation == e.Generation {
		return cached.expressions
	}
	delete(k.byEnvironment, name)
	fresh := kept{e.UID, e.Generation, workloads.NewExpressions()}
	if bytes := workloads.ExpressionBytes(e); k.share.Take(name, e.UID, int64(bytes), e.Namespace) && bytes > 0 {
		k.byEnvironment[name] = fresh
	}
	return fresh.expressions
}

// known returns those of an Environment, and keeps none.
func (k *keptExpressions) known(e *v1alpha1.Environment) *workloads.Expressions {
	k.mu.Lock()
	defer k.mu.Unlock()
	cached, found := k.byEnvironment[client.ObjectKeyFromObject(e)]
	if found && cached.uid == e.UID && cached.generation == e.Generation {
		return cached.expressions
	}
	return workloads.NewExpressions()
}

// forget is for an Environment that is gone.
func (k *keptExpressions) forget(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.share.Drop(name, k.byEnvironment[name].uid)
	delete(k.byEnvironment, name)
}
