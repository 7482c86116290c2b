package suite

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// createSuccessor creates the next attempt before the run ends, so that a restart in between forgets neither.
func (r *Reconciler) createSuccessor(ctx context.Context, o *lifecycle.Observation) error {
	next, problem := lifecycle.NextSuccessor(*o, r.Clock.Now())
	if problem != "" {
		o.Successor.Problem = problem
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
		if o.Successor.Problem = rerun.SuccessorProblem(existing, next, o.Suite); o.Successor.Problem == "" {
			o.Successor.Run = next.Name
		}
		return nil
	}
	if apierror.Rejected(err) || apierror.NamespaceGone(err) {
		o.Successor.Problem = fmt.Sprintf("It is not repeated, because the API server refuses that: %s.", apierror.Message(err))
		return nil
	}
	if err != nil {
		return err
	}
	o.Successor.Run = next.Name
	return nil
}
