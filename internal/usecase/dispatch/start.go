package dispatch

import (
	"context"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Start creates or finds the first run of a Trigger for the deployment that a run of another Trigger tests. An error that the sender can do
// something about is an *Error.
func (d *Dispatcher) Start(ctx context.Context, c Command, trigger, tested string) (first *v1alpha1.Suite, created bool, err error) {
	o := d.command(c)
	defer o.retrier.release()
	var f rerun.First
	if err = o.retrier.do(ctx, func(ctx context.Context) (err error) {
		f, err = o.firstRun(ctx, trigger, tested)
		return err
	}); err == nil {
		f.By = c.By
		first, err = o.createFirst(ctx, f)
	}
	return first, first != nil && o.owns(first), o.commandError(err, "there is a run of "+trigger)
}

func (o *operation) firstRun(ctx context.Context, trigger, tested string) (f rerun.First, err error) {
	f = rerun.First{Now: o.serverTime, RequestID: o.RequestID}
	if f.Tested, err = o.run(ctx, tested); err != nil {
		return f, err
	}
	if f.Trigger, err = find[v1alpha1.Trigger](ctx, o, trigger); err != nil {
		return f, err
	}
	if f.Trigger == nil || f.Trigger.DeletionTimestamp != nil {
		return f, reject("The Trigger %q does not exist. Create it, or leave it out of spec.gate of the Environment.", trigger)
	}
	if f.Trigger, err = o.complete(ctx, f.Trigger); err != nil {
		return f, err
	}
	f.Environment, err = find[v1alpha1.Environment](ctx, o, f.Tested.Spec.Environment)
	if err == nil && (f.Environment == nil || f.Environment.DeletionTimestamp != nil) {
		err = reject("The Environment %s does not exist any more.", f.Tested.Spec.Environment)
	}
	if err == nil && elsewhereProblem(f.Environment) != "" {
		err = rejectedError(elsewhereProblem(f.Environment))
	}
	return f, err
}

// createFirst continues after attempts that count no longer.
func (o *operation) createFirst(ctx context.Context, f rerun.First) (*v1alpha1.Suite, error) {
	runs, err := o.runsIn(ctx, f.Environment.Name)
	if err != nil {
		return nil, err
	}
	f.Ledger = ledger.Of(f.Environment, runs)
	if problem := f.Problem(); problem != "" {
		return nil, rejectedError(problem)
	}
	o.Notification = f.Notification()
	if err := o.checkVariables(f.Trigger); err != nil {
		return nil, err
	}
	known, err := o.attempts(ctx, f.Trigger, f.Environment.Name)
	if err != nil {
		return nil, err
	}
	for attempt := o.firstAttempt(known); attempt <= v1alpha1.MaxAttempt; attempt++ {
		desired := f.Attempt(attempt)
		if parent := traceparent(ctx); parent != "" {
			desired.Annotations[v1alpha1.AnnotationTraceparent] = parent
		}
		desired.Name = suite.KnownName(desired, known)
		existing, err := o.createOrGet(ctx, f.Trigger, desired)
		if err != nil || o.owns(existing) {
			return existing, err
		}
		if suite.OtherRevision(existing, desired) || suite.SameRun(existing, desired) && f.Outdated(existing) {
			continue
		}
		if problem := rerun.NextProblem(existing, desired, nil); problem != "" {
			return nil, rejectedError(problem)
		}
		return existing, nil
	}
	return nil, reject("There are %d attempts of this run already, which is as many as can be counted.", v1alpha1.MaxAttempt)
}
