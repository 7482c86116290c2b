package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestRequestsOfARun counts all that a run costs the API server: one that passes, and one that waited for its end. The
// store keeps their records and logs. Watches, and the renewal of the Lease, cost the same without runs.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.clock.stop() // on a slow machine there would be more counts, and reads of events
	w.create(aTrigger("one", atMost(1)))
	for _, trigger := range []string{"smoke", "one"} {
		w.awaitTrigger(trigger, func(s v1alpha1.TriggerStatus) bool { return s.ObservedGeneration > 0 })
	}
	before := w.wire.snapshot()
	w.create(aSuite("first", 0, of("one"))) // as the HTTP API does, whose write is counted
	w.runs("first")
	const pause = 2 * time.Second // before the first write of counts; that before the second is twice as long
	w.clock.moveOn(pause)
	w.awaitActive("one")
	w.passesArchived("first")
	w.clock.moveOn(2 * pause)
	w.awaitCounts("one")
	first := w.wire.since(before)
	first.add("POST suites", 1)
	first.within(t, "passed", 9, 3) // one read is of LimitRanges, for all Jobs of 5 s; one write says what the Environment has: for all runs of a deployment, at a pace

	w.clock.moveOn(-3 * pause)
	w.create(aSuite("second", 1, of("one")))
	w.runs("second")
	before = w.wire.snapshot()
	w.create(aSuite("third", 2, of("one")))
	w.reaches("third", v1alpha1.ReasonQueued, "at position 1")
	queued := w.wire.since(before)
	queued.add("POST suites", 1)
	queued.within(t, "queued", 3, 0) // beside its notification, two more than one that starts at once
}

// passesArchived ends a run.
func (w *world) passesArchived(name string) {
	w.t.Helper()
	p := &corev1.Pod{}
	w.must(w.Client.Get(w.t.Context(), w.key(name+"-pod"), p))
	w.status(p, func() {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	})
	w.ends(name, func(j *batchv1.Job) { // as the Job controller does, before it counts the pod
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{p.UID}}
	}, "", batchv1.JobSuccessCriteriaMet)
	if !tier.Gate() {
		time.Sleep(500 * time.Millisecond) // for a write that must not come
	}
	w.ends(name, func(j *batchv1.Job) {
		j.Status.UncountedTerminatedPods = nil
		j.Status.Succeeded, j.Status.CompletionTime = 1, j.Status.StartTime
	}, "", batchv1.JobComplete)
	w.archivedAs(name, v1alpha1.ReasonSaved, "")
}

// awaitCounts waits until a Trigger has counted that its last run has passed.
func (w *world) awaitCounts(trigger string) {
	w.t.Helper()
	w.awaitTrigger(trigger, func(s v1alpha1.TriggerStatus) bool {
		return s.ActiveSuites == 0 && s.LastSuite != nil && s.LastSuite.State == v1alpha1.ReasonPassed
	})
}

func (w *world) awaitActive(trigger string) {
	w.t.Helper()
	w.awaitTrigger(trigger, func(s v1alpha1.TriggerStatus) bool { return s.ActiveSuites == 1 })
}

func (w *world) awaitTrigger(name string, condition func(v1alpha1.TriggerStatus) bool) {
	w.t.Helper()
	w.eventually("the counts of "+name, func() string {
		t := &v1alpha1.Trigger{}
		w.must(w.Client.Get(w.t.Context(), w.key(name), t))
		if condition(t.Status) {
			return ""
		}
		return fmt.Sprintf("%+v", t.Status)
	})
}

// requests counts requests, by method and resource.
type requests map[string]int

func (r requests) add(request string, n int) { r[request] += n }

// within fails if a run costs more than so many writes and reads, and prints what it costs.
func (r requests) within(t *testing.T, what string, writes, reads int) {
	t.Helper()
	is, text := [2]int{}, ""
	for _, request := range slices.Sorted(maps.Keys(r)) {
		if r[request] == 0 || strings.Contains(request, "/teams/") { // of this test, or of another one
			continue
		}
		text += fmt.Sprintf(" %s=%d", strings.ReplaceAll(request, " ", "_"), r[request])
		if strings.HasPrefix(request, "GET ") {
			is[1] += r[request]
		} else {
			is[0] += r[request]
		}
	}
	fmt.Printf("REQUESTS run=%s writes=%d reads=%d%s\n", what, is[0], is[1], text)
	if is[0] > writes || is[1] > reads {
		t.Errorf("a run that %s costs %d writes and %d reads, want at most %d and %d:%s", what, is[0], is[1], writes, reads, text)
	}
}

func (x *wire) snapshot() requests {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.sent)
}

func (x *wire) since(before requests) requests {
	now := x.snapshot()
	for request, n := range before {
		now[request] -= n
	}
	return now
}
