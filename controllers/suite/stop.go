package suite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// The pods stay for their logs to be read. The Job fails with the next pod that does, and creates no other.
func (r *Reconciler) stopPods(ctx context.Context, o *lifecycle.Observation) error {
	at := r.Clock.Now()
	if first := o.Stopping.Requested; !first.IsZero() && first.Before(at) {
		at = first // the time counts from the first request
	}
	err := r.patch(ctx, o.Job, map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationStopRequested: at.UTC().Format(time.RFC3339)}},
		"spec":     map[string]any{"backoffLimit": o.Job.Status.Failed},
	}, jobOptions(o)...)
	switch {
	case apierrors.IsForbidden(err) || apierror.Rejected(err): // by a policy, or the role lacks the right
		return r.deleteJob(ctx, o)
	case err != nil:
		return err
	}
	pods, err := r.pods(ctx, o.Suite, v1alpha1.LabelSuite, o.Suite.Name)
	if err != nil {
		return err
	}
	var all error
	for _, p := range outcome.PodsOf(o.Job, pods) {
		if p.DeletionTimestamp == nil && outcome.AnyRunning([]corev1.Pod{p}) {
			all = errors.Join(all, r.patch(ctx, &p, map[string]any{"spec": map[string]any{"activeDeadlineSeconds": job.StopDeadlineSeconds}}))
		}
	}
	o.StopRequested(at)
	return all
}

// jobOptions are for a Job that the cache may never have.
func jobOptions(o *lifecycle.Observation) (options []client.PatchOption) {
	if o.Unlabeled {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	return options
}

// endPods ends pods that only injected containers hold open. Kubernetes counts them as failed; outcome does not.
func (r *Reconciler) endPods(ctx context.Context, o *lifecycle.Observation) error {
	o.HeldOpen = false
	labeled, err := r.pods(ctx, o.Suite, v1alpha1.LabelSuite, o.Suite.Name)
	if err != nil {
		return err
	}
	pods := outcome.PodsOf(o.Job, labeled)
	if limit := outcome.BackoffToEnd(o.Job, pods); limit != nil {
		if err := r.patch(ctx, o.Job, map[string]any{"spec": map[string]any{"backoffLimit": *limit}}, jobOptions(o)...); err != nil {
			return err
		}
	}
	var all error
	for _, p := range pods {
		if deadline := outcome.EndDeadline(&p); deadline != nil {
			all = errors.Join(all, r.patch(ctx, &p, map[string]any{"spec": map[string]any{"activeDeadlineSeconds": *deadline}}))
		}
	}
	return all
}

func (r *Reconciler) patch(ctx context.Context, obj client.Object, changes map[string]any, options ...client.PatchOption) error {
	metadata, _ := changes["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"] = obj.GetUID()
	changes["metadata"] = metadata
	body, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	target := obj.DeepCopyObject().(client.Object) // the cache may share the observed one
	return apierror.IgnoreNotFound(r.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), options...))
}
