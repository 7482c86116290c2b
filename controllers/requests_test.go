package controllers_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

// TestRequestsOfARun counts all that a run costs the API server: one that passes, and one that waited for its end. The
// store keeps their records and logs. Watches, and the renewal of the Lease, cost the same without runs.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Clock.Stop() // on a slow machine there would be more counts, and reads of events
	w.Create(build.Trigger("one", build.AtMost(1)))
	for _, trigger := range []string{"smoke", "one"} {
		awaitTrigger(w, trigger, func(s v1alpha1.TriggerStatus) bool { return s.ObservedGeneration > 0 })
	}
	before := w.Wire.Snapshot()
	w.Create(build.Suite("first", 0, build.OfTrigger("one"))) // as the HTTP API does, whose write is counted
	w.Runs("first")
	const pause = 2 * time.Second // before the first write of counts; that before the second is twice as long
	w.Clock.MoveOn(pause)
	awaitActive(w, "one")
	passesArchived(w, "first")
	w.Clock.MoveOn(2 * pause)
	awaitCounts(w, "one")
	first := w.Wire.Since(before)
	first.Add("POST suites", 1)
	first.Within(t, "passed", 10, 4) // one read is of LimitRanges, for all Jobs of 5 s; one write says what the Environment has: for all runs of a deployment, at a pace

	w.Clock.MoveOn(-3 * pause)
	w.Start(build.Suite("second", 1, build.OfTrigger("one")))
	before = w.Wire.Snapshot()
	w.Create(build.Suite("third", 2, build.OfTrigger("one")))
	w.Reaches("third", v1alpha1.ReasonQueued, "at position 1")
	queued := w.Wire.Since(before)
	queued.Add("POST suites", 1)
	queued.Within(t, "queued", 3, 0) // beside its notification, two more than one that starts at once
}

// passesArchived ends a run.
func passesArchived(w *world.World, name string) {
	w.T.Helper()
	p := w.PodOf(name)
	w.Status(p, func() {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	})
	w.Ends(name, func(j *batchv1.Job) { // as the Job controller does, before it counts the pod
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{p.UID}}
	}, "", batchv1.JobSuccessCriteriaMet)
	if !tier.Gate() {
		time.Sleep(500 * time.Millisecond) // for a write that must not come
	}
	w.Ends(name, func(j *batchv1.Job) {
		j.Status.UncountedTerminatedPods = nil
		j.Status.Succeeded, j.Status.CompletionTime = 1, j.Status.StartTime
	}, "", batchv1.JobComplete)
	w.ArchivedAs(name, v1alpha1.ReasonSaved, "")
}

// awaitCounts waits until a Trigger has counted that its last run has passed.
func awaitCounts(w *world.World, trigger string) {
	w.T.Helper()
	awaitTrigger(w, trigger, func(s v1alpha1.TriggerStatus) bool {
		return s.ActiveSuites == 0 && s.LastSuite != nil && s.LastSuite.State == v1alpha1.ReasonPassed
	})
}

func awaitActive(w *world.World, trigger string) {
	w.T.Helper()
	awaitTrigger(w, trigger, func(s v1alpha1.TriggerStatus) bool { return s.ActiveSuites == 1 })
}

func awaitTrigger(w *world.World, name string, condition func(v1alpha1.TriggerStatus) bool) {
	w.T.Helper()
	t := build.Trigger(name)
	w.Await("the counts of "+name, t, func() bool { return condition(t.Status) })
}
