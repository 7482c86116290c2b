package report

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// post is one way to show a run on a code host. If it fails, it does not hold up the others.
type post struct {
	purpose report.Purpose
	next    func(report.Observation, time.Time) report.Step
	send    func(*Reconciler, context.Context, report.Observation, destination) (sent, error)
}

// posts lists the most useful first.
var posts = []post{
	{report.Checks, report.Next, (*Reconciler).sendCheck},
	{report.Comments, report.NextComment, (*Reconciler).sendComment},
	{report.Deployments, report.NextDeployment, (*Reconciler).sendDeployment},
}

// destination is the code host, and a request that lacks only what the post says.
type destination struct {
	CodeHost
	report.Request
}

type sent struct {
	posted  bool          // the host accepted it, whether that could be stored or not
	failure *report.Error // nil: none
	more    bool          // another request is needed
	busy    bool          // another run posts to the same thing
}

func sentWith(err error) (sent, error) {
	if failure := (*report.Error)(nil); errors.As(err, &failure) {
		return sent{failure: failure}, nil
	}
	return sent{posted: err == nil}, err
}

// deliver sends a post that is due, and returns when to look again.
func (r *Reconciler) deliver(ctx context.Context, o report.Observation, p post) (after time.Duration, err error) {
	step := p.next(o, r.Clock.Now())
	switch {
	case step.Condition != nil:
		return r.conclude(ctx, o, *step.Condition)
	case !step.Post:
		return step.After, nil
	}
	if delay := r.memory.pause(o, p.purpose, r.Clock.Now()); delay > 0 {
		return delay, nil
	}
	share := report.Share(p.purpose, o.Suite)
	if delay := r.waits(o, step.Target, share); delay > 0 {
		return wait.Jitter(delay, retry.Spread), nil
	}
	credentials, problem, err := r.credentials(ctx, o, step.Target)
	if err != nil {
		return 0, err
	}
	if problem != nil {
		return r.pause(ctx, o, p.purpose, report.Rejected, *problem)
	}
	budget := r.budgetOf(o, step.Target, credentials)
	if delay := budget.Take(share, r.Clock.Now()); delay > 0 {
		return wait.Jitter(delay, retry.Spread), nil
	}
	done, err := r.send(ctx, o, p, report.Request{Target: step.Target, Credentials: credentials, Purpose: p.purpose})
	if done.posted || done.failure != nil {
		budget.Done(done.failure, r.Clock.Now())
	} else {
		budget.Return()
	}
	if done.posted {
		r.Metrics.posted()
		r.memory.succeed(client.ObjectKeyFromObject(o.Suite), p.purpose)
	}
	switch {
	case err != nil:
		return 0, err
	case done.failure != nil:
		return r.failed(ctx, o, p.purpose, step.Target, done.failure)
	case done.more:
		return retry.AtOnce, nil
	case done.busy:
		return wait.Jitter(lockedRetry, retry.Spread), nil
	default:
		return 0, nil
	}
}

func (r *Reconciler) send(ctx context.Context, o report.Observation, p post, request report.Request) (sent, error) {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	return p.send(r, ctx, o, destination{CodeHost: r.Config.Hosts[request.Host], Request: request})
}

func (r *Reconciler) failed(
	ctx context.Context, o report.Observation, p report.Purpose, target report.Target, failure *report.Error,
) (time.Duration, error) {
	r.Metrics.failed(failure)
	ctrl.LoggerFrom(ctx).Info("cannot post a "+p.String(), "host", target.Host, "repository", target.Repository,
		"reason", failure.Message, "cause", failure.Cause)
	return r.pause(ctx, o, p, failure.Kind, v1alpha1.NotReported(v1alpha1.ReasonReportFailed,
		failure.Message+". Postflight tries again until a day after the end of the run."))
}

// pause returns when to try again. The condition is about the check; the report itself keeps the problems of the others.
func (r *Reconciler) pause(
	ctx context.Context, o report.Observation, p report.Purpose, kind report.Kind, c metav1.Condition,
) (time.Duration, error) {
	after := wait.Jitter(report.RetryAfter(p, o.Suite, kind, r.Clock.Now()), retry.Spread)
	r.memory.fail(o, p, r.Clock.Now().Add(after))
	if p != report.Checks {
		return after, nil
	}
	return after, r.explain(ctx, o, c)
}

// locks are for what several runs share: the check of a commit, a deployment, a comment. Without them, an older state could follow a newer
// one. No worker waits for a lock: while a host hangs, they are needed for others.
type locks struct {
	mu   sync.Mutex
	held sets.Set[string]
}

// lockedRetry is when to try again to get a lock: most posts take less.
const lockedRetry = time.Second

func (l *locks) take(key string) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.Has(key) {
		return nil, false
	}
	if l.held == nil {
		l.held = sets.New[string]()
	}
	l.held.Insert(key)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held.Delete(key)
	}, true
}

// current decides again, under the lock, by the run as it is stored: the cache may lack what the previous holder of the lock stored.
// If the Trigger names another repository by now, that change causes another reconcile.
func (r *Reconciler) current(
	ctx context.Context, o report.Observation, to report.Target, next func(report.Observation, time.Time) report.Step,
) (report.Observation, report.Step, error) {
	s, err := reconcile.Reread(ctx, r.Live, o.Suite)
	if err != nil || s == nil {
		return o, report.Step{}, err
	}
	if o, err = r.observe(ctx, s); err != nil {
		return o, report.Step{}, err
	}
	step := next(o, r.Clock.Now())
	step.Post = step.Post && step.Target == to
	return o, step, nil
}
