package suite_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

// TestKueue: the Jobs of a Trigger with a queue wait in it, one runs at a time, and a run that waits there is Queued.
func TestKueue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("queued", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Labels = map[string]string{job.QueueLabel: "tests"}
		t.Spec.JobTemplate.Spec.Suspend = new(true)
	}))
	w.Create(build.Suite("first", 0, build.OfTrigger("queued")), build.Suite("second", 1, build.OfTrigger("queued")))
	const waiting = `Waiting in the queue "tests" of Kueue`
	w.Reaches("first", v1alpha1.ReasonQueued, waiting)
	w.Reaches("second", v1alpha1.ReasonQueued, waiting)
	first, second := admitted(w)
	w.Reaches(first, v1alpha1.ReasonStarting, "")
	w.Reaches(second, v1alpha1.ReasonQueued, waiting)
	w.Runs(first)
	w.Passes(first)
	w.Reaches(first, v1alpha1.ReasonPassed, "")
	admitNext(w)
	w.Runs(second)
	w.Cancel(second, "")
	w.Stops(second)
	w.Reaches(second, v1alpha1.ReasonCanceled, "")
}

// TestCancelInKueue deletes a Job that never had a pod.
func TestCancelInKueue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("queued", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Labels = map[string]string{job.QueueLabel: "tests"}
		t.Spec.JobTemplate.Spec.Suspend = new(true)
	}))
	w.Create(build.Suite("run", 0, build.OfTrigger("queued")))
	w.Reaches("run", v1alpha1.ReasonQueued, "")
	w.Cancel("run", "")
	w.IsDeleting("run")
	w.Drop(&batchv1.Job{}, "run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "")
}

// TestMultiKueue: the pods of a run are in another cluster, and MultiKueue writes the status of its Job.
func TestMultiKueue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	for name, change := range map[string]func(*v1alpha1.Trigger){
		"there": func(*v1alpha1.Trigger) {}, "reports": func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{} },
	} {
		w.Create(build.Trigger(name, change, func(t *v1alpha1.Trigger) { t.Spec.JobTemplate.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }))
	}
	w.Create(build.Suite("passed", 0, build.OfTrigger("there")), build.Suite("failed", 1, build.OfTrigger("there")),
		build.Suite("canceled", 2, build.OfTrigger("there")), build.Suite("reports", 3, build.OfTrigger("reports")))
	synced := func(name string, change func(*batchv1.Job)) {
		j := w.HasJob(name)
		w.Status(j, func() { change(j) })
	}
	for _, name := range []string{"passed", "failed", "canceled"} {
		synced(name, func(j *batchv1.Job) { fakecluster.StartJob(j); fakecluster.ReadyJob(j) })
		w.Reaches(name, v1alpha1.ReasonRunning, "The tests are running in another cluster")
	}
	synced("passed", fakecluster.CompleteJob)
	w.Reaches("passed", v1alpha1.ReasonPassed, "so there is no log and no test result")
	synced("failed", func(j *batchv1.Job) { fakecluster.FailJob(j, batchv1.JobReasonBackoffLimitExceeded) })
	w.Reaches("failed", v1alpha1.ReasonFailed, "only its log there says")
	w.Cancel("canceled", "")
	for _, name := range []string{"canceled", "reports"} {
		w.IsDeleting(name)
		w.Drop(&batchv1.Job{}, name)
	}
	w.Reaches("canceled", v1alpha1.ReasonCanceled, "")
	w.Reaches("reports", v1alpha1.ReasonError, "no test results come back from there")
}

// admitNext resumes a Job if none goes on.
func admitNext(w *world.World) {
	w.T.Helper()
	ctx := context.Background()
	jobs := &batchv1.JobList{}
	w.List(jobs, client.HasLabels{job.QueueLabel})
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
	w.Must(w.Client.Patch(ctx, next, client.MergeFrom(was)))
}

// admitted acts as Kueue with room for one Job until one of two runs may start, and returns it, and the other.
func admitted(w *world.World) (first, second string) {
	w.T.Helper()
	w.Eventually("one of the Jobs is resumed", func() string {
		admitNext(w)
		for name, other := range map[string]string{"first": "second", "second": "first"} {
			if !*w.HasJob(name).Spec.Suspend {
				first, second = name, other
				return ""
			}
		}
		return "both are suspended"
	})
	return first, second
}
