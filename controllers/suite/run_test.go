package controllers_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

func TestRunEnds(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct {
		reason  string
		end     func(name string)
		state   string
		message string
	}{
		"passed":  {"the Job completed", w.passes, v1alpha1.ReasonPassed, "The tests passed"},
		"failed":  {"the tests exited with 3", func(name string) { w.exits(name, 3) }, v1alpha1.ReasonFailed, `Container "test" exited with code 3`},
		"expired": {"the deadline of the Job", w.expires, v1alpha1.ReasonTimedOut, "timeout of 30m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.create(aSuite(name, 0))
			w.runs(name)
			running := w.reaches(name, v1alpha1.ReasonRunning, "kubectl logs")
			if running.Status.StartTime == nil || running.Status.JobName != name || running.Status.CompletionTime != nil {
				t.Errorf("status of a run: %+v", running.Status)
			}
			tc.end(name)
			ended := w.reaches(name, tc.state, tc.message)
			if ended.Status.CompletionTime == nil {
				t.Errorf("%s: an ended run has no completionTime", tc.reason)
			}
			if owner := metav1.GetControllerOf(w.hasJob(name)); owner == nil || owner.UID != ended.UID {
				t.Errorf("the Job belongs to %v, want the Suite", owner)
			}
		})
	}
}

// TestPodsPhaseComesFirst: a kubelet writes that a pod has failed before it writes how its containers ended, and the Job fails between.
// The run ends with what the containers did.
func TestPodsPhaseComesFirst(t *testing.T) {
	w := newWorld(t)
	w.create(aSuite("early", 0))
	w.runs("early")
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName("early")), p))
	w.status(p, func() { p.Status.Phase = corev1.PodFailed })
	w.fails("early", batchv1.JobReasonBackoffLimitExceeded)
	for range 3 {
		time.Sleep(500 * time.Millisecond) // the manager looks each second
		if s := w.reaches("early", v1alpha1.ReasonRunning, "The tests are running"); s.Finished() {
			t.Fatalf("it ended before the container was reported: %+v", s.Status)
		}
	}
	w.status(p, func() { fakecluster.EndPod(p, 3) })
	w.reaches("early", v1alpha1.ReasonFailed, `Container "test" exited with code 3`)
}

func TestRunWaitsForWhatIsMissing(t *testing.T) {
	cases := map[string]struct {
		reason  string
		suite   *v1alpha1.Suite
		waiting string
		late    client.Object
		ended   string
	}{
		"Trigger": {"applied after the Suite", aSuite("run", 0, of("late")), `Waiting for the Trigger "late"`,
			aTrigger("late"), `The Trigger "late" does not exist`},
		"Environment": {"applied after the Suite", aSuite("run", 0, at("late")), `Waiting for the Environment "late"`,
			anEnvironment("late"), `The Environment "late" does not exist`},
	}
	for name, tc := range cases {
		t.Run(name+"/Late", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(tc.suite.DeepCopy())
			w.reaches("run", v1alpha1.ReasonQueued, tc.waiting)
			w.create(tc.late.DeepCopyObject().(client.Object))
			w.hasJob("run")
		})
		t.Run(name+"/Never", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(tc.suite.DeepCopy())
			w.reaches("run", v1alpha1.ReasonQueued, tc.waiting)
			w.clock.moveOn(time.Minute)
			w.touch("run")
			w.reaches("run", v1alpha1.ReasonError, tc.ended)
			w.hasNoJob("run")
		})
	}
}

func TestRunOfAnotherTriggerOfTheName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0, func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "of-one-that-was-deleted" }))
	w.reaches("run", v1alpha1.ReasonQueued, `The Trigger "smoke" was deleted and recreated after this notification, so the run ends`)
	w.hasNoJob("run")
	w.clock.moveOn(time.Minute)
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonError, `The Trigger "smoke" was deleted and recreated after this notification. Notify again.`)
}

// TestJobRefused checks the message, and that the manager does not try to create the Job again and again.
func TestJobRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("broken", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Name = "Not a name"
	}))
	w.create(aSuite("run", 0, of("broken")))
	w.reaches("run", v1alpha1.ReasonError, "The API server refused the Job")
	w.reaches("run", v1alpha1.ReasonError, `spec.template.spec.containers[0].name: Invalid value: "Not a name"`)
	w.touch("run")
	w.create(aSuite("next", 1))
	w.hasJob("next") // by now, a hot loop would have tried several times
	if got := w.wire.count("POST jobs"); got != 2 {
		t.Errorf("the manager tried %d times to create two Jobs, want 2", got)
	}
}

func TestQuotaIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}
	quota.Spec.Hard = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	w.create(quota)
	w.status(quota, func() {
		quota.Status.Hard = quota.Spec.Hard
		quota.Status.Used = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	})
	began := time.Now()
	w.create(aSuite("run", 0))
	w.reaches("run", v1alpha1.ReasonQueued, "exceeded quota: jobs")
	w.hasNoJob("run")
	if got, seconds := w.wire.count("POST jobs"), int(time.Since(began)/time.Second); got > 2+seconds {
		t.Errorf("in %d seconds, the manager tried %d times to create a Job that the quota refuses", seconds, got)
	}
	w.must(w.Client.Delete(context.Background(), quota))
	w.eventually("the run starts once there is room", func() string {
		w.touch("run")
		return complaint(w.Client.Get(context.Background(), w.key("run"), &batchv1.Job{}))
	})
	w.reaches("run", v1alpha1.ReasonStarting, "")
}

func TestJobIsDeletedBehindItsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.must(w.Client.Delete(context.Background(), w.hasJob("run"), client.PropagationPolicy("Background")))
	w.reaches("run", v1alpha1.ReasonRunning, "The Job run was deleted before it ended")
	w.podStops("run")
	w.reaches("run", v1alpha1.ReasonError, "The Job run was deleted before it ended")
	w.hasNoJob("run")
}

// TestSuccessorWaitsForPodsOfADeletedJob: two runs of a stream never share the environment, even if the Job of the
// older one was deleted.
func TestSuccessorWaitsForPodsOfADeletedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("older", 0, keyed("k")))
	w.runs("older")
	w.must(w.Client.Delete(context.Background(), w.hasJob("older"), client.PropagationPolicy("Background")))
	w.create(aSuite("newer", 1, keyed("k")))
	w.reaches("older", v1alpha1.ReasonRunning, "Superseded by newer, a newer deployment of the same stream. Stopping the pods of this run")
	w.reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.hasNoJob("newer")
	w.podStops("older")
	w.reaches("older", v1alpha1.ReasonSuperseded, "")
	w.hasJob("newer")
}

func TestForeignJobInTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := aTrigger("x").Spec.JobTemplate.Spec.Template
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run"}, Spec: batchv1.JobSpec{Template: template}}
	w.create(foreign)
	w.create(aSuite("run", 0))
	w.reaches("run", v1alpha1.ReasonError, `A Job "run" that belongs to something else is in the way`)
	if left := w.hasJob("run"); left.UID != foreign.UID || left.DeletionTimestamp != nil {
		t.Error("the foreign Job was touched")
	}
}
