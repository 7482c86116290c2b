package suite

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// quarantines are those that a run applies whose Job is created now. They have no effect where the exit code alone decides.
func (r *Reconciler) quarantines(ctx context.Context, s *v1alpha1.Suite, required results.Requirement) (quarantine.Applied, error) {
	if required.Policy == v1alpha1.RequireNothing {
		return quarantine.Applied{}, nil
	}
	list := &v1alpha1.QuarantineList{}
	if err := r.List(ctx, list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return quarantine.Applied{}, fmt.Errorf("list the Quarantines: %w", err)
	}
	return quarantine.For(list.Items, s.Spec.Trigger.Name, s.Spec.Environment, r.Clock.Now()), nil
}
