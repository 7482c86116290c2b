package dispatch

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Rerun creates the next attempt of an ended run, or finds it. An error that the sender can do something about is an *Error.
func (d *Dispatcher) Rerun(ctx context.Context, c Command, run string) (next *v1alpha1.Suite, created bool, err error) {
	o := d.command(c)
	defer o.retrier.release()
	r := &rerunRequest{operation: o, by: c.By, onlyFailed: c.OnlyFailed}
	if err = o.retrier.do(ctx, func(ctx context.Context) error { return r.prepare(ctx, run) }); err == nil && r.next == nil {
		err = r.create(ctx)
	}
	return r.next, r.next != nil && o.owns(r.next), o.commandError(err, "there is another attempt")
}

type rerunRequest struct {
	*operation
	by         string
	onlyFailed bool
	ended      *v1alpha1.Suite
	trigger    *v1alpha1.Trigger
	desired    *v1alpha1.Suite
	known      []*v1alpha1.Suite // other attempts
	next       *v1alpha1.Suite   // that exists
}

func (r *rerunRequest) prepare(ctx context.Context, run string) (err error) {
	if r.ended, err = r.run(ctx, run); err != nil {
		return err
	}
	if problem := rerun.UnfinishedProblem(r.ended); problem != "" {
		return &Error{Kind: RunUnfinished, Message: problem}
	}
	if r.trigger, err = find[v1alpha1.Trigger](ctx, r.operation, r.ended.Spec.Trigger.Name); err != nil {
		return err
	}
	nextAttempt := rerun.NextAttempt
	if r.onlyFailed {
		nextAttempt = rerun.NextFailed
	}
	next, problem := nextAttempt(r.ended, r.trigger, r.by)
	if problem != "" {
		return rejectedError(problem)
	}
	r.desired = next
	r.desired.Annotations[v1alpha1.AnnotationRequestID] = r.RequestID
	if parent := traceparent(ctx); parent != "" {
		r.desired.Annotations[v1alpha1.AnnotationTraceparent] = parent
	}
	return r.findNext(ctx)
}

// findNext lets a request that is sent again get the same answer.
func (r *rerunRequest) findNext(ctx context.Context) (err error) {
	key := index.RunKey(r.trigger.UID, r.ended.Spec.Environment, r.ended.Spec.Deployment.SHA)
	if r.known, err = index.Suites(ctx, r.Cache, r.namespace, index.Run, key); err != nil {
		return err
	}
	r.desired.Name = suite.KnownName(r.desired, r.known)
	next, err := find[v1alpha1.Suite](ctx, r.operation, r.desired.Name)
	if next == nil || err != nil {
		return err
	}
	return r.accept(next)
}

func (r *rerunRequest) create(ctx context.Context) error {
	runs, e, err := r.placeOf(ctx, r.ended.Spec.Environment)
	if err != nil {
		return err
	}
	if problem := elsewhereProblem(e); problem != "" {
		return rejectedError(problem)
	}
	l := ledger.Of(e, runs)
	if problem := rerun.SetDeployed(r.desired, r.ended, l, r.serverTime); problem != "" {
		return rejectedError(problem)
	}
	if r.onlyFailed {
		if err := r.checkFailed(ctx, rerun.FailedRequest{Suite: r.desired, Environment: e, Ledger: l, Runs: runs}); err != nil {
			return err
		}
	}
	next, err := r.createOrGet(ctx, r.trigger, r.desired)
	if err != nil {
		return err
	}
	return r.accept(next)
}

// checkFailed refuses a rerun of failed tests that could not be green.
func (r *rerunRequest) checkFailed(ctx context.Context, request rerun.FailedRequest) (err error) {
	if request.Trigger, err = r.complete(ctx, r.trigger); err != nil {
		return err
	}
	request.Digest = job.TestsDigest(r.desired, request.Trigger, request.Environment)
	err = r.retrier.do(ctx, func(ctx context.Context) (err error) {
		request.Chain, err = rerun.FailedLinks(r.desired,
			func(name string) (*v1alpha1.Suite, error) { return find[v1alpha1.Suite](ctx, r.operation, name) },
			func(name string) (*batchv1.Job, error) { return find[batchv1.Job](ctx, r.operation, name) })
		return err
	})
	if err != nil {
		return err
	}
	if problem := rerun.FailedObstacle(request); problem != "" {
		return rejectedError(problem)
	}
	return nil
}

// find reads an object of the team. It returns nil if there is none.
func find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, o *operation, name string) (P, error) {
	object := P(new(T))
	if err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, object); err != nil {
		return nil, apierror.IgnoreNotFound(err)
	}
	return object, nil
}

// placeOf also works for an Environment that was deleted.
func (r *rerunRequest) placeOf(ctx context.Context, environment string) (runs []*v1alpha1.Suite, e *v1alpha1.Environment, err error) {
	if runs, err = r.runsIn(ctx, environment); err != nil {
		return nil, nil, err
	}
	if e, err = r.findEnvironment(ctx, environment); e == nil {
		e = &v1alpha1.Environment{}
		e.Name = environment
	}
	return runs, e, err
}

// accept checks that what has the name is the next attempt.
func (r *rerunRequest) accept(next *v1alpha1.Suite) error {
	if problem := rerun.NextProblem(next, r.desired, r.known); problem != "" {
		return rejectedError(problem)
	}
	r.next = next
	return nil
}
