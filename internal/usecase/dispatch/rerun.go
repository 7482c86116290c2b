package dispatch

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
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
	next       *v1alpha1.Suite // that exists
}

func (r *rerunRequest) prepare(ctx context.Context, run string) (err error) {
	if r.ended, err = r.run(ctx, run); err != nil {
		return err
	}
	if problem := rerun.UnfinishedProblem(r.ended); problem != "" {
		return &Error{Kind: RunUnfinished, Message: problem}
	}
	if r.trigger, err = r.findTrigger(ctx); err != nil {
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

func (r *rerunRequest) findTrigger(ctx context.Context) (*v1alpha1.Trigger, error) {
	t := &v1alpha1.Trigger{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.ended.Spec.Trigger.Name}, t)
	if apierror.NotFound(err) {
		return nil, nil
	}
	return t, err
}

// findNext lets a request that is sent again get the same answer.
func (r *rerunRequest) findNext(ctx context.Context) error {
	key := index.RunKey(r.trigger.UID, r.ended.Spec.Environment, r.ended.Spec.Deployment.SHA)
	known, err := index.Suites(ctx, r.Cache, r.namespace, index.Run, key)
	if err != nil {
		return err
	}
	r.desired.Name = suite.KnownName(r.desired, known)
	next := &v1alpha1.Suite{}
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(r.desired), next)
	if apierror.NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.accept(next)
}

func (r *rerunRequest) create(ctx context.Context) error {
	l, err := r.ledgerOf(ctx, r.ended.Spec.Environment)
	if err != nil {
		return err
	}
	if problem := rerun.SetDeployed(r.desired, r.ended, l, r.serverTime); problem != "" {
		return rejectedError(problem)
	}
	next, err := r.createOrGet(ctx, r.trigger, r.desired)
	if err != nil {
		return err
	}
	return r.accept(next)
}

// ledgerOf also works for an Environment that was deleted.
func (r *rerunRequest) ledgerOf(ctx context.Context, environment string) (*ledger.Ledger, error) {
	runs, err := r.runsIn(ctx, environment)
	if err != nil {
		return nil, err
	}
	e, err := r.findEnvironment(ctx, environment)
	if e == nil {
		e = &v1alpha1.Environment{}
		e.Name = environment
	}
	return ledger.Of(e, runs), err
}

// accept checks that what has the name is the next attempt.
func (r *rerunRequest) accept(next *v1alpha1.Suite) error {
	if problem := rerun.NextProblem(next, r.desired); problem != "" {
		return rejectedError(problem)
	}
	r.next = next
	return nil
}
