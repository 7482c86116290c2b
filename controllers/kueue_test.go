package controllers_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// TestKueue: the Jobs of a Trigger with a queue wait in it, one runs at a time, and a run that waits there is Queued.
func TestKueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("queued", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Labels = map[string]string{job.QueueLabel: "tests"}
		t.Spec.JobTemplate.Spec.Suspend = new(true)
	}))
	w.create(aSuite("first", 0, of("queued")), aSuite("second", 1, of("queued")))
	const waiting = `Waiting in the queue "tests" of Kueue`
	w.reaches("first", v1alpha1.ReasonQueued, waiting)
	w.reaches("second", v1alpha1.ReasonQueued, waiting)
	first, second := w.admitted()
	w.reaches(first, v1alpha1.ReasonStarting, "")
	w.reaches(second, v1alpha1.ReasonQueued, waiting)
	w.runs(first)
	w.passes(first)
	w.reaches(first, v1alpha1.ReasonPassed, "")
	w.admitNext()
	w.runs(second)
	w.cancel(second, "")
	w.stops(second)
	w.reaches(second, v1alpha1.ReasonCanceled, "")
}

// TestCancelInKueue deletes a Job that never had a pod.
func TestCancelInKueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("queued", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Labels = map[string]string{job.QueueLabel: "tests"}
		t.Spec.JobTemplate.Spec.Suspend = new(true)
	}))
	w.create(aSuite("run", 0, of("queued")))
	w.reaches("run", v1alpha1.ReasonQueued, "")
	w.cancel("run", "")
	w.isDeleting("run")
	w.drop(&batchv1.Job{}, "run")
	w.reaches("run", v1alpha1.ReasonCanceled, "")
}

// admitNext resumes a Job if none goes on.
func (w *world) admitNext() {
	w.t.Helper()
	ctx := context.Background()
	jobs := &batchv1.JobList{}
	w.must(w.Client.List(ctx, jobs, inNamespace(w), client.HasLabels{job.QueueLabel}))
	var next *batchv1.Job
	for i := range jobs.Items {
		switch j := &jobs.Items[i]; {
		case outcome.CompletionTime(j) != nil || j.DeletionTimestamp != nil:
		case *j.Spec.Suspend:
			next = j
		default:
			return
		}
	}
	if next == nil {
		return
	}
	was := next.DeepCopy()
	next.Spec.Suspend = new(false)
	w.must(w.Client.Patch(ctx, next, client.MergeFrom(was)))
}

// admitted acts as Kueue with room for one Job until one of two runs may start, and returns it, and the other.
func (w *world) admitted() (first, second string) {
	w.t.Helper()
	w.eventually("one of the Jobs is resumed", func() string {
		w.admitNext()
		for name, other := range map[string]string{"first": "second", "second": "first"} {
			if !*w.hasJob(name).Spec.Suspend {
				first, second = name, other
				return ""
			}
		}
		return "both are suspended"
	})
	return first, second
}
