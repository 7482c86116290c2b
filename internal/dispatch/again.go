package dispatch

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/suite"
)

// repetition is a notification of a run that exists.
type repetition struct {
	*operation
	trigger  *v1alpha1.Trigger
	desired  *v1alpha1.Suite
	existing *v1alpha1.Suite
	changed  bool // the existing run may differ from what is known of it
	again    bool // the desired attempt is to be created beside it
}

// resolve decides whether the run is repeated. If not, and it continues, its status notes the notification, so that no run of an
// older one, which the API server may not have yet, supersedes it. That write fails if the run changed meanwhile: it may be about to
// be superseded.
func (r *repetition) resolve(ctx context.Context) error {
	return changeRejection(r.retrier.do(ctx, r.attempt), "change the status of the Suite")
}

func (r *repetition) attempt(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil || r.again {
		return err
	}
	stream, err := StreamOf(ctx, r.Cache, r.existing)
	if err != nil {
		return err
	}
	r.again = !suite.SameRun(r.existing, r.desired) || suite.RunsAgain(r.existing, r.desired, stream, r.trigger.Spec.Duplicates)
	was := r.existing.DeepCopy()
	if r.again || r.Mode == DryRun || !suite.NotifyAgain(r.existing, r.desired) {
		return nil
	}
	err = r.Writer.Status().Patch(ctx, r.existing, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
	r.changed = err != nil
	return r.unlessGone(err)
}

func (r *repetition) refresh(ctx context.Context) error {
	if !r.changed {
		return nil
	}
	is := &v1alpha1.Suite{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(r.existing), is)
	r.existing = is
	return r.unlessGone(err)
}

// unlessGone repeats a run that was deleted just now.
func (r *repetition) unlessGone(err error) error {
	r.again = r.again || apierror.NotFound(err)
	return apierror.IgnoreNotFound(err)
}
