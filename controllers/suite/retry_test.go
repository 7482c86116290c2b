package suite_test

import (
	"net/http"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

func retriesOnError(n int32) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Retry = &v1alpha1.Retry{OnError: n} }
}

// retryingWorld has a Trigger smoke that retries twice.
func retryingWorld(t *testing.T, change ...func(*v1alpha1.Trigger)) *world.World {
	t.Helper()
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke", append(change, retriesOnError(2))...))
	w.StartManager()
	return w
}

// evicts fails a Job because a node needed the room of its pod.
func evicts(w *world.World, name string) {
	w.T.Helper()
	p := w.PodOf(name)
	w.Status(p, func() {
		fakecluster.EndPod(p, 137)
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	})
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

func hasSuites(w *world.World, n int) {
	w.T.Helper()
	list := &v1alpha1.SuiteList{}
	w.List(list)
	if len(list.Items) != n {
		w.T.Errorf("there are %d Suites, want %d", len(list.Items), n)
	}
}

// TestRetryOnError repeats what the cluster ended as often as the Trigger says, also by another manager, and no run that failed.
func TestRetryOnError(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.Start(build.Suite("first", 0, build.Keyed("k")))
	evicts(w, "first")
	first := w.Reaches("first", v1alpha1.ReasonError, "The node was low on resource: memory (Evicted). The run ")
	second := first.Status.RepeatedBy
	w.Runs(second)
	w.Stop()
	w.StartManager()
	evicts(w, second)
	s := w.Reaches(second, v1alpha1.ReasonError, "is retry 2 of 2.")
	third := s.Status.RepeatedBy
	w.Runs(third)
	evicts(w, third)
	last := w.Reaches(third, v1alpha1.ReasonError, "It was retry 2 of 2, the last.")
	if last.Status.RepeatedBy != "" || last.Spec.Attempt != 3 || last.Retries() != 2 || last.Annotations[v1alpha1.AnnotationRepeats] != second || s.Retries() != 1 {
		t.Errorf("%+v", last)
	}
	w.Start(build.Suite("failing", 1))
	w.Exits("failing", 1)
	if s := w.Reaches("failing", v1alpha1.ReasonFailed, "exited with code 1"); s.Status.RepeatedBy != "" {
		t.Errorf("a failure is repeated by %s", s.Status.RepeatedBy)
	}
	hasSuites(w, 4)
}

// TestRetryOnceThroughAKill: a manager that was killed after it has recorded the next run, and before it has created it.
func TestRetryOnceThroughAKill(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.Start(build.Suite("first", 0))
	w.Stop()
	f := &fault{method: "POST", path: "/suites", code: http.StatusInternalServerError, body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no etcd.","code":500}`)}
	w.ManagerConfig.Wrap(f.wrap)
	w.StartManager()
	evicts(w, "first")
	poll.True(t, "the next run is recorded", func() bool { return w.Reaches("first", v1alpha1.ReasonRunning, "").Status.RepeatedBy != "" })
	w.Stop()
	f.heals()
	w.StartManager()
	first := w.Reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.")
	w.Stop()
	w.StartManager()
	w.HasJob(first.Status.RepeatedBy)
	w.Touch("first")
	w.Runs(first.Status.RepeatedBy)
	hasSuites(w, 2)
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
	w := retryingWorld(t, build.AtMost(1))
	w.Start(build.Suite("first", 0, build.Keyed("k")))
	w.Create(build.Suite("other", 30, build.Keyed("other")))
	w.Reaches("other", v1alpha1.ReasonQueued, "")
	evicts(w, "first")
	again := w.Reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.").Status.RepeatedBy
	w.Runs(again)
	w.Create(build.Suite("newer", 40, build.Keyed("k"), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA, s.Spec.ReceivedAt = "b0bb1e", nil }))
	w.Reaches(again, v1alpha1.ReasonRunning, "Superseded by newer")
	w.Stops(again)
	if s := w.Reaches(again, v1alpha1.ReasonSuperseded, ""); s.Status.RepeatedBy != "" {
		t.Errorf("what was superseded is repeated by %s", s.Status.RepeatedBy)
	}
	hasSuites(w, 4)
}

// TestRetryWaitsForAHold, and stops when somebody pauses the Trigger.
func TestRetryWaitsForAHold(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t)
	w.Create(build.Suite("first", 0), build.Suite("second", 1))
	w.Runs("first")
	w.Runs("second")
	staging := build.In(w.NS, build.Environment("staging"))
	w.Change(staging, func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(time.Now().Add(time.Hour)), Reason: "debugging"}
	})
	evicts(w, "first")
	again := w.Reaches("first", v1alpha1.ReasonError, "is retry 1 of 2.").Status.RepeatedBy
	w.Reaches(again, v1alpha1.ReasonQueued, "staging is on hold until")
	smoke := build.In(w.NS, build.Trigger("smoke"))
	w.Change(smoke, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Paused = true })
	w.Await("the manager knows that the Trigger is paused", smoke, func() bool { return smoke.Status.ObservedGeneration == smoke.Generation })
	evicts(w, "second")
	w.Reaches("second", v1alpha1.ReasonError, "It is not retried, because its Trigger is paused.")
	hasSuites(w, 3)
}

// TestRetryOfAPull waits before the registry is asked again, and remembers why after a restart, when the pod is gone.
func TestRetryOfAPull(t *testing.T) {
	t.Parallel()
	w := retryingWorld(t, func(t *v1alpha1.Trigger) { t.Spec.StartTimeout = &metav1.Duration{Duration: 5 * time.Minute} })
	w.Create(build.Suite("run", 0))
	j := w.HasJob("run")
	w.Status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.Pod(j, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{fakecluster.ContainerStatus("test", corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "dial tcp 10.0.0.1:443: connect: connection refused"}})}})
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonStarting, "cannot be pulled")
	w.Clock.MoveOn(5 * time.Minute)
	w.Touch("run")
	w.Stopping("run")
	w.PodStops("run")
	w.Drop(&batchv1.Job{}, "run")
	w.Reaches("run", v1alpha1.ReasonStarting, "Retry 1 of 2 follows within 30s.")
	w.Stop()
	w.StartManager()
	w.Clock.MoveOn(30 * time.Second)
	w.Touch("run")
	s := w.Reaches("run", v1alpha1.ReasonError, "is retry 1 of 2.")
	w.HasJob(s.Status.RepeatedBy)
	hasSuites(w, 2)
}
