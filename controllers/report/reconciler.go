package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	// reportWorkers is how many Suites are reported at once. They mostly wait for code hosts, and report.Limits let a
	// host that hangs hold up few of them.
	reportWorkers = 16

	// postTimeout bounds a post, whose requests have limits of their own.
	postTimeout = 20 * time.Second
)

// CodeHost shows checks, deployments and comments. Its errors are *report.Error.
type CodeHost interface {
	// Post makes the host show a check, and returns what it shows.
	Post(ctx context.Context, r report.Request) (v1alpha1.SuiteReport, error)

	// Deploy makes the host show a deployment, and returns its number, and whether a further call is needed.
	Deploy(ctx context.Context, r report.DeploymentRequest) (id int64, more bool, err error)

	// PullRequest finds the pull request of a commit; nil if there is none.
	PullRequest(ctx context.Context, r report.Request) (*report.PullRequest, error)

	// Comment makes a pull request show a comment, and returns its number.
	Comment(ctx context.Context, r report.CommentRequest) (id int64, err error)
}

// CodeHostConfig is a code host, and the credentials of the manager itself.
type CodeHostConfig struct {
	CodeHost
	Name   string // as Teams name the host of repositories
	Limits report.Limits

	// Own reads the manager's own credentials; nil: it has none.
	Own func() (report.Credentials, error)
}

// Config is what the reports about runs need.
type Config struct {
	report.Options
	Hosts map[v1alpha1.HostingService]CodeHostConfig
}

// Reconciler shows Suites on code hosts. It writes only Suite.status.report and Reported, so a slow host never delays a run.
type Reconciler struct {
	client.Client
	Live    client.Reader // reads Secrets, which are not cached, and Suites before something is posted
	Clock   clock.PassiveClock
	Config  Config
	Metrics *Metrics

	budgets     *report.Budgets // of all that uses the same credentials
	lastBudgets sync.Map        // the *report.Budget of the credentials that were read last, by their source
	memory      reportMemory
	locks       locks
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("report").
		For(&v1alpha1.Suite{}, builder.WithPredicates(reportable, reconcile.Concerning(r.isExpected(mgr.GetCache())))).
		Watches(&v1alpha1.Trigger{}, handler.EnqueueRequestsFromMapFunc(r.unreportedOf), reconcile.SpecChanged).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: reportWorkers, ReconciliationTimeout: retry.Timeout, RateLimiter: retry.Backoff(),
		}).
		Complete(retry.Conflicts(r))
}

// A later change of the Trigger enqueues its runs.
func (r *Reconciler) isExpected(cache client.Reader) func(*v1alpha1.Suite) bool {
	return func(s *v1alpha1.Suite) bool {
		t, err := reconcile.Shared[v1alpha1.Trigger](context.Background(), cache, s.Namespace, s.Spec.Trigger.Name)
		return err != nil || report.Expected(s, t)
	}
}

// Reconcile posts what the code host does not show yet.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.memory.begin(r.Clock.Now())
	s, err := reconcile.Shared[v1alpha1.Suite](ctx, r, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if s == nil {
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if report.TooLate(s, r.Clock.Now()) {
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil // most of the Suites that a leader finds when it starts
	}
	o, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	var wait time.Duration
	for _, p := range r.memory.inOrder(req.NamespacedName) {
		after, failure := r.deliver(ctx, o, p)
		wait, err = lifecycle.Sooner(wait, after), errors.Join(err, failure)
	}
	return ctrl.Result{RequeueAfter: wait}, err
}

func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.Suite) (report.Observation, error) {
	o := report.Observation{Suite: s}
	var err error
	o.Trigger, err = reconcile.Shared[v1alpha1.Trigger](ctx, r, s.Namespace, s.Spec.Trigger.Name)
	if err != nil || s.Spec.Deployment.SHA == "" || !report.Expected(s, o.Trigger) {
		return o, err // without a list of all runs of a commit, which would be slow for a commit that has many
	}
	attempts := &v1alpha1.SuiteList{}
	key := index.RunKey(s.Spec.Trigger.UID, s.Spec.Environment, s.Spec.Deployment.SHA)
	err = r.List(ctx, attempts, client.InNamespace(s.Namespace), client.MatchingFields{index.Run: key}, client.UnsafeDisableDeepCopy)
	for i := range attempts.Items {
		other := &attempts.Items[i]
		if other.Name != s.Name && other.SameTest(s) && ledger.Compare(other, s) > 0 {
			o.NewerAttempt = other.Name
		}
	}
	return o, err
}

func (r *Reconciler) unreportedOf(ctx context.Context, t client.Object) []ctrl.Request {
	more := report.ShowsMore(t.(*v1alpha1.Trigger))
	return reconcile.SuitesWhere(ctx, r, func(s *v1alpha1.Suite) bool {
		return !report.Settled(s, r.Clock.Now()) || more && !report.TooLate(s, r.Clock.Now())
	}, t.GetNamespace(), client.MatchingFields{index.Trigger: t.GetName()})
}
