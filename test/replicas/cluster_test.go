package replicas

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/history"
)

// fakeCluster acts as the Job controller, the kubelets and the garbage collector for all runs of an API server, and
// records what it does. Faults of the manager do not reach it.
type fakeCluster struct {
	c     k8sclient.Client
	tests func(j *batchv1.Job) (end history.Tests, takes time.Duration)
	pods  bool // the Jobs have pods

	mu   sync.Mutex
	runs map[string]*played // by namespace and name of the Suite
}

// played is what happened to a run.
type played struct {
	jobs           map[types.UID]bool
	node           string
	end            history.Tests
	began, stopped time.Time
	ends           []string // of the Suite
}

// nodes run the Jobs. Each may be lost, with what runs there; another one of its name then takes its place.
var nodes = []string{"node-a", "node-b"}

func startCluster(t testing.TB, s *apiserver.Server, f *fakeCluster) *fakeCluster {
	t.Helper()
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{
		Scheme: s.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: new(true), MaxConcurrentReconciles: 8},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.c, f.runs = mgr.GetClient(), map[string]*played{}
	for _, err := range []error{
		ctrl.NewControllerManagedBy(mgr).For(&batchv1.Job{}).Complete(retried(f.playJob)),
		ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Suite{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(retried(f.watchSuite)),
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
	return f
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

func (f *fakeCluster) play(namespace, name string, change func(p *played)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := namespace + "/" + name
	if f.runs[key] == nil {
		f.runs[key] = &played{jobs: map[types.UID]bool{}}
	}
	change(f.runs[key])
}

// watchSuite records the ends of a run, and collects the garbage of one that is deleted.
func (f *fakeCluster) watchSuite(ctx context.Context, r ctrl.Request) (time.Duration, error) {
	s := &v1alpha1.Suite{}
	if err := f.c.Get(ctx, r.NamespacedName, s); err != nil {
		return 0, k8sclient.IgnoreNotFound(err)
	}
	if s.Finished() {
		f.play(s.Namespace, s.Name, func(p *played) {
			if !slices.Contains(p.ends, s.State()) {
				p.ends = append(p.ends, s.State())
			}
		})
	}
	if s.DeletionTimestamp == nil {
		return 0, nil
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	if err := f.c.Delete(ctx, j, k8sclient.PropagationPolicy(metav1.DeletePropagationBackground)); k8sclient.IgnoreNotFound(err) != nil {
		return 0, err
	}
	return 0, f.finalize(ctx, s)
}

// finalize removes the finalizer of an object whose dependents are gone.
func (f *fakeCluster) finalize(ctx context.Context, o k8sclient.Object) error {
	was := o.DeepCopyObject().(k8sclient.Object)
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == metav1.FinalizerDeleteDependents }))
	return k8sclient.IgnoreNotFound(f.c.Patch(ctx, o, k8sclient.MergeFrom(was)))
}

// playJob runs the pod of a Job, from its start to its end.
func (f *fakeCluster) playJob(ctx context.Context, r ctrl.Request) (time.Duration, error) {
	j := &batchv1.Job{}
	if err := f.c.Get(ctx, r.NamespacedName, j); err != nil {
		return 0, k8sclient.IgnoreNotFound(err)
	}
	var p played
	f.play(j.Namespace, j.Name, func(now *played) {
		now.jobs[j.UID] = true
		p = *now
	})
	end, takes := f.tests(j)
	left := time.Until(p.began.Add(takes))
	switch {
	case p.end == history.Lost:
		return time.Second, f.loseJob(ctx, j)
	case j.DeletionTimestamp != nil:
		return 0, f.deleteJob(ctx, j)
	case job.CompletionTime(j) != nil:
		return 0, nil
	case !job.StopRequested(j).IsZero():
		return 0, f.endJob(ctx, j, history.Stopped)
	case j.Status.Ready == nil:
		return takes, f.beginJob(ctx, j)
	case left > 0:
		return left, nil
	default:
		return 0, f.endJob(ctx, j, end)
	}
}

// nodeOf is where the scheduler puts a Job.
func nodeOf(j *batchv1.Job) string {
	h := fnv.New32()
	_, _ = h.Write([]byte(j.Name)) // never fails
	return nodes[h.Sum32()%uint32(len(nodes))]
}

func (f *fakeCluster) beginJob(ctx context.Context, j *batchv1.Job) error {
	f.play(j.Namespace, j.Name, func(p *played) {
		if p.began.IsZero() {
			p.began, p.node = time.Now(), nodeOf(j)
		}
	})
	if f.pods {
		if err := f.createPod(ctx, j); err != nil {
			return err
		}
	}
	return f.status(ctx, j, func() {
		j.Status.StartTime, j.Status.Active, j.Status.Ready = new(metav1.Now()), 1, new(int32(1))
	})
}

func (f *fakeCluster) status(ctx context.Context, o k8sclient.Object, change func()) error {
	was := o.DeepCopyObject().(k8sclient.Object)
	change()
	return k8sclient.IgnoreNotFound(f.c.Status().Patch(ctx, o, k8sclient.MergeFrom(was)))
}

// endJob stops the pod first: the Job ends after it.
func (f *fakeCluster) endJob(ctx context.Context, j *batchv1.Job, end history.Tests) error {
	f.stopped(j, end)
	condition, exit := batchv1.JobFailed, int32(1)
	announced, reason := batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded
	if end == history.Passed {
		condition, exit, announced, reason = batchv1.JobComplete, 0, batchv1.JobSuccessCriteriaMet, ""
	}
	if f.pods {
		if err := f.endPod(ctx, j, exit); err != nil {
			return err
		}
	}
	return f.status(ctx, j, func() {
		now := metav1.Now()
		j.Status.Active, j.Status.Ready = 0, new(int32(0))
		if j.Status.StartTime == nil {
			j.Status.StartTime = &now
		}
		if exit == 0 {
			j.Status.Succeeded, j.Status.CompletionTime = 1, &now
		} else {
			j.Status.Failed = 1
		}
		for _, t := range []batchv1.JobConditionType{announced, condition} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
				Type: t, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now})
		}
	})
}

// stopped records how tests ended that had begun. The first end counts: a write of it may be repeated.
func (f *fakeCluster) stopped(j *batchv1.Job, end history.Tests) {
	f.play(j.Namespace, j.Name, func(p *played) {
		if p.end == history.NotRun && !p.began.IsZero() {
			p.end, p.stopped = end, time.Now()
		}
	})
}

func (f *fakeCluster) deleteJob(ctx context.Context, j *batchv1.Job) error {
	f.stopped(j, history.Stopped)
	if f.pods {
		pod := &corev1.Pod{ObjectMeta: podMeta(j)}
		if err := f.c.Delete(ctx, pod, k8sclient.GracePeriodSeconds(0)); k8sclient.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return f.finalize(ctx, j)
}
