package suite

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// repeatRun creates the repetition before the run ends, so that a restart in between forgets neither.
func (r *Reconciler) repeatRun(ctx context.Context, o *suite.Observation) error {
	next, problem := suite.NextRepetition(*o, r.Clock.Now())
	if problem != "" {
		o.Repeat.Problem = problem
		return nil
	}
	err := r.Create(ctx, next)
	if apierrors.IsAlreadyExists(err) {
		existing, err := reconcile.Get[v1alpha1.Suite](ctx, r.Live, next.Namespace, next.Name)
		if err != nil {
			return err
		}
		if existing == nil {
			return fmt.Errorf("the run %s existed and is gone", next.Name)
		}
		if problem = suite.RepetitionProblem(existing, next, o.Suite); problem != "" {
			o.Repeat.Problem = problem
			return nil
		}
		o.Repeat.Run = next.Name
		return nil
	}
	if apierror.Rejected(err) || apierror.NamespaceGone(err) {
		o.Repeat.Problem = fmt.Sprintf("It is not repeated, because the API server refuses that: %s.", apierror.Message(err))
		return nil
	}
	if err != nil {
		return err
	}
	o.Repeat.Run = next.Name
	return nil
}
