package suite

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys,verbs=list;watch

// withAllowedBy looks for any APIKey, as the shipped policy does: one that is suspended counts.
func (r *Reconciler) withAllowedBy(ctx context.Context, j *batchv1.Job) (*batchv1.Job, error) {
	list := &v1alpha1.APIKeyList{}
	if err := r.List(ctx, list, client.InNamespace(j.Namespace), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("look up the API keys of the namespace: %w", err)
	}
	return job.WithAllowedBy(j, len(list.Items) > 0), nil
}
