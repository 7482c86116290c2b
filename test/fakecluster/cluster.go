package fakecluster

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/history"
)

// Cluster is the rest of a cluster for all runs of an API server, and records what it does. Faults of a manager do not reach it.
type Cluster struct {
	Tests func(j *batchv1.Job) (end history.Tests, takes time.Duration)
	Pods  bool // the Jobs have pods, whose collectors report what the tests came to

	Message func(j *batchv1.Job) string // that the containers of a pod leave when they end; nil: none

	client    client.Client
	mu        sync.Mutex
	runs      map[string]*run // by namespace and name of the Suite
	forgotten sets.Set[types.UID]
}

// Run is what happened to a run.
type Run struct {
	Jobs           int // that were created for it
	Tests          history.Tests
	Began, Stopped time.Time // of the tests
	Ends           []string  // of the Suite, which are different
	Ended          time.Time // of the Suite: when the first was seen
}

type run struct {
	Run
	jobs map[types.UID]bool
	node string
}

// Nodes run the Jobs. Each may be lost, with what runs there; another one of its name then takes its place.
var Nodes = []string{"node-a", "node-b"}

// Start begins to act on all Jobs and Suites of the server.
func (c *Cluster) Start(t testing.TB, s *apiserver.Server) {
	t.Helper()
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{
		Scheme: s.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: new(true), MaxConcurrentReconciles: 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.client, c.runs, c.forgotten = mgr.GetClient(), map[string]*run{}, sets.New[types.UID]()
	for _, err := range []error{
		ctrl.NewControllerManagedBy(mgr).For(&batchv1.Job{}).Complete(retried(c.playJob)),
		ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Suite{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(retried(c.watchSuite)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the fake cluster ended: %v", err)
		}
	})
}

// retried tries again soon, whatever fails: the cluster must not be slower than the manager.
func retried(f func(context.Context, ctrl.Request) (time.Duration, error)) reconcile.Func {
	return func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
		after, err := f(ctx, r)
		if err != nil {
			after = 200 * time.Millisecond
		}
		return ctrl.Result{RequeueAfter: after}, nil
	}
}

// Run is what happened to a run so far.
func (c *Cluster) Run(namespace, name string) (now Run) {
	c.record(namespace, name, func(r *run) {
		now = r.Run
		now.Jobs, now.Ends = len(r.jobs), slices.Clone(r.Ends)
	})
	return now
}

// Forget drops what happened to a run. Another one may have its name. The cache may still have the old one, and report its end again.
func (c *Cluster) Forget(s *v1alpha1.Suite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, s.Namespace+"/"+s.Name)
	c.forgotten.Insert(s.UID)
}

func (c *Cluster) forgot(suite types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgotten.Has(suite)
}

func (c *Cluster) record(namespace, name string, change func(r *run)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := namespace + "/" + name
	if c.runs[key] == nil {
		c.runs[key] = &run{jobs: map[types.UID]bool{}}
	}
	change(c.runs[key])
}

// LoseNode stops the kubelet of a node, so that its runs neither end nor report. It returns how many there are.
func (c *Cluster) LoseNode(node string) (lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		if r.node == node && !r.Began.IsZero() && r.Tests == history.NotRun {
			r.Tests = history.Lost
			lost++
		}
	}
	return lost
}
