package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

func retriesOnError(n int32) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Retry = &v1alpha1.Retry{OnError: n} }
}

// retryingWorld has a Trigger smoke that retries twice.
func retryingWorld(t *testing.T, change ...func(*v1alpha1.Trigger)) *world {
	t.Helper()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke", append(change, retriesOnError(2))...))
	w.startManager()
	return w
}

// evicts fails a Job because a node needed the room of its pod.
func (w *world) evicts(name string) {
	w.t.Helper()
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p))
	w.status(p, func() {
		fakecluster.EndPod(p, 137)
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	})
	w.fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

func (w *world) hasSuites(n int) {
	w.t.Helper()
	list := &v1alpha1.SuiteList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
	if len(list.Items) != n {
		w.t.Errorf("there are %d Suites, want %d", len(list.Items), n)
	}
}

// TestRetryOnError repeats what the cluster ended as often as the Trigger says, also by another manager, and no run that failed.
func TestRetryOnError(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.create(aSuite("first", 0, keyed("k")))
	w.runs("first")
	w.evicts("first")
	first := w.reaches("first", v1alpha1.ReasonError, "The node was low on resource: memory (Evicted). The run ")
	second := first.Status.RepeatedBy
	w.runs(second)
	w.stop()
	w.startManager()
	w.evicts(second)
	s := w.reaches(second, v1alpha1.ReasonError, "is retry 2 of 2.")
	third := s.Status.RepeatedBy
	w.runs(third)
	w.evicts(third)
	last := w.reaches(third, v1alpha1.ReasonError, "It was retry 2 of 2, the last.")
	if last.Status.RepeatedBy != "" || last.Spec.Attempt != 3 || last.Retries() != 2 || last.Annotations[v1alpha1.AnnotationRepeats] != second || s.Retries() != 1 {
		t.Errorf("%+v", last)
	}
	w.create(aSuite("failing", 1))
	w.runs("failing")
	w.exits("failing", 1)
	if s := w.reaches("failing", v1alpha1.ReasonFailed, "exited with code 1"); s.Status.RepeatedBy != "" {
		t.Errorf("a failure is repeated by %s", s.Status.RepeatedBy)
	}
	w.hasSuites(4)
}

// TestRetryOnceThroughAKill: a manager that was killed after it has recorded the next run, and before it has created it.
func TestRetryOnceThroughAKill(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.create(aSuite("first", 0))
	w.runs("first")
	w.stop()
	f := &fault{method: "POST", path: "/suites", code: http.StatusInternalServerError, body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no etcd.","code":500}`)}
	w.config.Wrap(f.wrap)
	w.startManager()
	w.evicts("first")
	w.eventually("the next run is recorded", func() string {
		s := w.reaches("first", v1alpha1.ReasonRunning, "")
		if s.Status.RepeatedBy == "" {
			return "not yet"
		}
		return ""
	})
	w.stop()
	f.heals()
	w.startManager()
	first := w.reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.")
	w.stop()
	w.startManager()
	w.hasJob(first.Status.RepeatedBy)
	w.touch("first")
	w.runs(first.Status.RepeatedBy)
	w.hasSuites(2)
}

func (f *fault) heals() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = true
}

// TestRetryKeepsItsPlace: a newer deployment takes the place of the next attempt, as it would have taken that of the run, and none is made
// after it. A run that was received meanwhile in another stream waits for the same slot behind it.
func TestRetryKeepsItsPlace(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t, atMost(1))
	w.create(aSuite("first", 0, keyed("k")))
	w.runs("first")
	w.create(aSuite("other", 30, keyed("other")))
	w.reaches("other", v1alpha1.ReasonQueued, "")
	w.evicts("first")
	again := w.reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.").Status.RepeatedBy
	w.runs(again)
	w.create(aSuite("newer", 40, keyed("k"), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA, s.Spec.ReceivedAt = "b0bb1e", nil }))
	w.reaches(again, v1alpha1.ReasonRunning, "Superseded by newer")
	w.stops(again)
	if s := w.reaches(again, v1alpha1.ReasonSuperseded, ""); s.Status.RepeatedBy != "" {
		t.Errorf("what was superseded is repeated by %s", s.Status.RepeatedBy)
	}
	w.hasSuites(4)
}

// TestRetryWaitsForAHold, and stops when somebody pauses the Trigger.
func TestRetryWaitsForAHold(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.create(aSuite("first", 0), aSuite("second", 1))
	w.runs("first")
	w.runs("second")
	staging := anEnvironment("staging")
	staging.Namespace = w.ns
	w.change(staging, func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(time.Now().Add(time.Hour)), Reason: "debugging"}
	})
	w.evicts("first")
	again := w.reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.").Status.RepeatedBy
	w.reaches(again, v1alpha1.ReasonQueued, "staging is on hold until")
	smoke := aTrigger("smoke")
	smoke.Namespace = w.ns
	w.change(smoke, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = true })
	w.eventually("the manager knows that the Trigger is paused", func() string {
		t := &v1alpha1.Trigger{}
		w.must(w.Client.Get(context.Background(), w.key("smoke"), t))
		if t.Status.ObservedGeneration != t.Generation {
			return fmt.Sprintf("it has seen %d of %d", t.Status.ObservedGeneration, t.Generation)
		}
		return ""
	})
	w.evicts("second")
	w.reaches("second", v1alpha1.ReasonError, "It is not retried, because its Trigger is paused.")
	w.hasSuites(3)
}

// TestRetryOfAPull waits before the registry is asked again, and remembers why after a restart, when the pod is gone.
func TestRetryOfAPull(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t, func(t *v1alpha1.Trigger) { t.Spec.StartTimeout = &metav1.Duration{Duration: 5 * time.Minute} })
	w.create(aSuite("run", 0))
	j := w.hasJob("run")
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.pod(j, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{fakecluster.ContainerStatus("test", corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "dial tcp 10.0.0.1:443: connect: connection refused"}})}})
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonStarting, "cannot be pulled")
	w.clock.moveOn(5 * time.Minute)
	w.touch("run")
	w.stopping("run")
	w.podStops("run")
	w.drop(&batchv1.Job{}, "run")
	w.reaches("run", v1alpha1.ReasonStarting, "Retry 1 of 2 follows within 30s.")
	w.stop()
	w.startManager()
	w.clock.moveOn(30 * time.Second)
	w.touch("run")
	s := w.reaches("run", v1alpha1.ReasonError, "is retry 1 of 2.")
	w.hasJob(s.Status.RepeatedBy)
	w.hasSuites(2)
}
