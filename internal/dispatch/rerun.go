package dispatch

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Rerun creates the next attempt of a run that has ended, or finds it: however often it is called, there is one. An
// error that the sender can do something about is an *Error.
func (d *Dispatcher) Rerun(ctx context.Context, c Command, run string) (next *v1alpha1.Suite, created bool, err error) {
	o := d.command(c)
	defer o.retrier.release()
	r := &rerun{operation: o, by: c.By}
	if err = o.retrier.do(ctx, func(ctx context.Context) error { return r.prepare(ctx, run) }); err == nil && r.next == nil {
		err = r.create(ctx)
	}
	return r.next, r.next != nil && o.owns(r.next), o.commandError(err, "there is another attempt")
}

type rerun struct {
	*operation
	by      string
	of      *v1alpha1.Suite
	trigger *v1alpha1.Trigger
	desired *v1alpha1.Suite
	next    *v1alpha1.Suite // that exists
}

// prepare finds out what to create, and whether it exists.
func (r *rerun) prepare(ctx context.Context, run string) (err error) {
	if r.of, err = r.run(ctx, run); err != nil {
		return err
	}
	if !r.of.Finished() {
		return &Error{Kind: RunUnfinished, Message: fmt.Sprintf("The run %s has not ended. Wait for its end, or cancel it.", run)}
	}
	attempt := max(r.of.Spec.Attempt, 1) + 1
	if attempt > v1alpha1.MaxAttempt {
		return reject("The run %s is attempt %d, and there can be no more. Deploy again, and notify.", run, attempt-1)
	}
	if r.trigger, err = r.findTrigger(ctx); err != nil {
		return err
	}
	// Without a SHA the request is part of the name: all requests to rerun this run share one.
	r.desired = suite.Rerun(r.of, r.trigger.UID, attempt, "rerun."+run)
	r.desired.Annotations[suite.AnnotationRequest] = r.uniqueID
	r.desired.Annotations[v1alpha1.AnnotationRerunBy] = r.by
	return r.findNext(ctx)
}

func (r *rerun) findTrigger(ctx context.Context) (*v1alpha1.Trigger, error) {
	t := &v1alpha1.Trigger{}
	name := r.of.Spec.Trigger.Name
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, t)
	if apierror.NotFound(err) || err == nil && t.DeletionTimestamp != nil {
		return nil, reject("The Trigger %q of the run does not exist any more. Create it again, or rerun a run of another Trigger.", name)
	}
	return t, err
}

// findNext looks for the next attempt first, so that a request that is sent again gets the same answer.
func (r *rerun) findNext(ctx context.Context) error {
	next := &v1alpha1.Suite{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(r.desired), next)
	if apierror.NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.accept(next)
}

func (r *rerun) create(ctx context.Context) error {
	stream, err := StreamOf(ctx, r.Cache, r.of)
	if err != nil {
		return err
	}
	if newer := suite.NewerDeployment(r.of, stream); newer != nil {
		return reject("The run %s of a newer deployment came after %s, and another attempt would supersede it. "+
			"Rerun %s, or deploy this commit again and notify.", newer.Name, r.of.Name, newer.Name)
	}
	next, err := r.createOrGet(ctx, r.trigger, r.desired)
	if err != nil {
		return err
	}
	return r.accept(next)
}

// accept makes sure that what has the name is the next attempt.
func (r *rerun) accept(next *v1alpha1.Suite) error {
	switch {
	case !suite.SameRun(next, r.desired):
		return reject("The name %s belongs to a Suite that is not an attempt of this run. Delete that Suite, and send the request again.", next.Name)
	case next.DeletionTimestamp != nil:
		return reject("The next attempt, %s, is being deleted, and is not gone yet. Send the request again in a minute.", next.Name)
	}
	r.next = next
	return nil
}
