package suite

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// startOf returns what was under test when the Job was created. The status remembers it when the Job is gone.
func startOf(s *v1alpha1.Suite, j *batchv1.Job) []v1alpha1.TestedWorkload {
	switch {
	case s.Status.UnderTest != nil:
		return s.Status.UnderTest.Workloads
	case j != nil:
		return job.UnderTest(j)
	default:
		return nil
	}
}

// readWorkloads is a method of Workloads.
type readWorkloads func(w Workloads, ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error)

// underTest returns nothing of an Environment that names no workloads, or that was deleted.
func (r *Reconciler) underTest(ctx context.Context, e *v1alpha1.Environment, read readWorkloads) ([]v1alpha1.TestedWorkload, error) {
	if e == nil || len(e.Spec.Workloads) == 0 || r.Workloads == nil {
		return nil, nil
	}
	tested, err := read(r.Workloads, ctx, e)
	if err != nil {
		return nil, fmt.Errorf("what runs in the Environment %s cannot be read: %w", e.Name, err)
	}
	return tested, nil
}

func (r *Reconciler) compareWorkloads(ctx context.Context, o *lifecycle.Observation) error {
	e, err := reconcile.Shared[v1alpha1.Environment](ctx, r, o.Suite.Namespace, o.Suite.Spec.Environment)
	if err != nil {
		return err
	}
	now, err := r.underTest(ctx, e, Workloads.UnderTest)
	if err != nil && ctx.Err() == nil {
		o.NotCompared("Nobody knows what was tested: "+clause(err)+".", r.Clock.Now())
		return nil
	}
	if err != nil {
		return err
	}
	tested := workloads.Tested(o.UnderTest.Start, now)
	o.UnderTest.Gone, o.UnderTest.Moved = e == nil, !workloads.StillThere(tested, o.Suite.Spec.Deployment)
	o.UnderTest.Another = workloads.Another(tested, o.Suite.Spec.Deployment)
	o.Compared(tested)
	return nil
}

// clause is an error for the end of a sentence.
func clause(err error) string { return strings.TrimRight(err.Error(), ". ") }
