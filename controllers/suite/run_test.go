package suite_test

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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

func TestRunEnds(t *testing.T) {
	w := world.New(t)
	cases := map[string]struct {
		reason  string
		end     func(name string)
		state   string
		message string
	}{
		"passed":  {"the Job completed", w.Passes, v1alpha1.ReasonPassed, "The tests passed"},
		"failed":  {"the tests exited with 3", func(name string) { w.Exits(name, 3) }, v1alpha1.ReasonFailed, `Container "test" exited with code 3`},
		"expired": {"the deadline of the Job", w.Expires, v1alpha1.ReasonTimedOut, "timeout of 30m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.Start(build.Suite(name, 0))
			running := w.Reaches(name, v1alpha1.ReasonRunning, "kubectl logs")
			if running.Status.StartTime == nil || running.Status.JobName != name || running.Status.CompletionTime != nil {
				t.Errorf("status of a run: %+v", running.Status)
			}
			tc.end(name)
			ended := w.Reaches(name, tc.state, tc.message)
			if ended.Status.CompletionTime == nil {
				t.Errorf("%s: an ended run has no completionTime", tc.reason)
			}
			if owner := metav1.GetControllerOf(w.HasJob(name)); owner == nil || owner.UID != ended.UID {
				t.Errorf("the Job belongs to %v, want the Suite", owner)
			}
		})
	}
}

// TestPodsPhaseComesFirst: a kubelet writes that a pod has failed before it writes how its containers ended, and the Job fails between.
// The run ends with what the containers did.
func TestPodsPhaseComesFirst(t *testing.T) {
	w := world.New(t)
	w.Start(build.Suite("early", 0))
	p := w.PodOf("early")
	w.Status(p, func() { p.Status.Phase = corev1.PodFailed })
	w.Fails("early", batchv1.JobReasonBackoffLimitExceeded)
	for range 3 {
		time.Sleep(500 * time.Millisecond) // the manager looks each second
		if s := w.Reaches("early", v1alpha1.ReasonRunning, "The tests are running"); s.Finished() {
			t.Fatalf("it ended before the container was reported: %+v", s.Status)
		}
	}
	w.Status(p, func() { fakecluster.EndPod(p, 3) })
	w.Reaches("early", v1alpha1.ReasonFailed, `Container "test" exited with code 3`)
}

func TestRunWaitsForWhatIsMissing(t *testing.T) {
	cases := map[string]struct {
		reason  string
		suite   *v1alpha1.Suite
		waiting string
		late    client.Object
		ended   string
	}{
		"Trigger": {"applied after the Suite", build.Suite("run", 0, build.OfTrigger("late")), `Waiting for the Trigger "late"`,
			build.Trigger("late"), `The Trigger "late" does not exist`},
		"Environment": {"applied after the Suite", build.Suite("run", 0, build.InEnvironment("late")), `Waiting for the Environment "late"`,
			build.Environment("late"), `The Environment "late" does not exist`},
	}
	for name, tc := range cases {
		t.Run(name+"/Late", func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Create(tc.suite.DeepCopy())
			w.Reaches("run", v1alpha1.ReasonQueued, tc.waiting)
			w.Create(tc.late.DeepCopyObject().(client.Object))
			w.HasJob("run")
		})
		t.Run(name+"/Never", func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Create(tc.suite.DeepCopy())
			w.Reaches("run", v1alpha1.ReasonQueued, tc.waiting)
			w.Clock.MoveOn(time.Minute)
			w.Touch("run")
			w.Reaches("run", v1alpha1.ReasonError, tc.ended)
			w.HasNoJob("run")
		})
	}
}

func TestRunOfAnotherTriggerOfTheName(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("run", 0, func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "of-one-that-was-deleted" }))
	w.Reaches("run", v1alpha1.ReasonQueued, `The Trigger "smoke" was deleted and recreated after this notification, so the run ends`)
	w.HasNoJob("run")
	w.Clock.MoveOn(time.Minute)
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonError, `The Trigger "smoke" was deleted and recreated after this notification. Notify again.`)
}

// TestJobRefused checks the message, and that the manager does not try to create the Job again and again.
func TestJobRefused(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("broken", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Name = "Not a name"
	}))
	w.Create(build.Suite("run", 0, build.OfTrigger("broken")))
	w.Reaches("run", v1alpha1.ReasonError, "The API server refused the Job")
	w.Reaches("run", v1alpha1.ReasonError, `spec.template.spec.containers[0].name: Invalid value: "Not a name"`)
	w.Touch("run")
	w.Create(build.Suite("next", 1))
	w.HasJob("next") // by now, a hot loop would have tried several times
	if got := w.Wire.Count("POST jobs"); got != 2 {
		t.Errorf("the manager tried %d times to create two Jobs, want 2", got)
	}
}

func TestQuotaIsFull(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}
	quota.Spec.Hard = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	w.Create(quota)
	w.Status(quota, func() {
		quota.Status.Hard = quota.Spec.Hard
		quota.Status.Used = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	})
	began := time.Now()
	w.Create(build.Suite("run", 0))
	w.Reaches("run", v1alpha1.ReasonQueued, "exceeded quota: jobs")
	w.HasNoJob("run")
	if got, seconds := w.Wire.Count("POST jobs"), int(time.Since(began)/time.Second); got > 2+seconds {
		t.Errorf("in %d seconds, the manager tried %d times to create a Job that the quota refuses", seconds, got)
	}
	w.Delete(quota)
	w.Eventually("the run starts once there is room", func() string {
		w.Touch("run")
		return world.Complaint(w.Client.Get(context.Background(), w.Key("run"), &batchv1.Job{}))
	})
	w.Reaches("run", v1alpha1.ReasonStarting, "")
}

func TestJobIsDeletedBehindItsBack(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0))
	w.Delete(w.HasJob("run"))
	w.Reaches("run", v1alpha1.ReasonRunning, "The Job run was deleted before it ended")
	w.PodStops("run")
	w.Reaches("run", v1alpha1.ReasonError, "The Job run was deleted before it ended")
	w.HasNoJob("run")
}

// TestSuccessorWaitsForPodsOfADeletedJob: two runs of a stream never share the environment, even if the Job of the
// older one was deleted.
func TestSuccessorWaitsForPodsOfADeletedJob(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("older", 0, build.Keyed("k")))
	w.Delete(w.HasJob("older"))
	w.Create(build.Suite("newer", 1, build.Keyed("k")))
	w.Reaches("older", v1alpha1.ReasonRunning, "Superseded by newer, a newer deployment of the same stream. Stopping the pods of this run")
	w.Reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.HasNoJob("newer")
	w.PodStops("older")
	w.Reaches("older", v1alpha1.ReasonSuperseded, "")
	w.HasJob("newer")
}

func TestForeignJobInTheWay(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	template := build.Trigger("x").Spec.JobTemplate.Spec.Template
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run"}, Spec: batchv1.JobSpec{Template: template}}
	w.Create(foreign)
	w.Create(build.Suite("run", 0))
	w.Reaches("run", v1alpha1.ReasonError, `A Job "run" that belongs to something else is in the way`)
	if left := w.HasJob("run"); left.UID != foreign.UID || left.DeletionTimestamp != nil {
		t.Error("the foreign Job was touched")
	}
}

// TestAllowedBy: in a namespace without an APIKey, the Job tells the policies to look for an Environment. A key that is suspended counts, as
// it does for the policy.
func TestAllowedBy(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("without", 0))
	if got := w.HasJob("without").Labels[v1alpha1.LabelAllowedBy]; got != "environment" {
		t.Errorf("without a key, the label is %q, want environment", got)
	}
	key := build.APIKey("a1", func(k *v1alpha1.APIKey) { k.Spec.Suspended = true })
	w.Create(key)
	w.Await("the manager has seen the key", key, func() bool { return len(key.Status.Conditions) > 0 })
	w.Create(build.Suite("with", 1))
	if got, has := w.HasJob("with").Labels[v1alpha1.LabelAllowedBy]; has {
		t.Errorf("with a key, the label is %q, want none", got)
	}
}

// TestJobOfAnEarlierSuiteInTheWay: a run that is deleted and notified again starts when the garbage collector has
// deleted the Job of the earlier one.
func TestJobOfAnEarlierSuiteInTheWay(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Suite("run", 0))
	earlier := w.HasJob("run")
	w.Delete(build.Suite("run", 0))
	w.Gone(&v1alpha1.Suite{}, "run")
	w.Create(build.Suite("run", 1))
	w.Reaches("run", v1alpha1.ReasonQueued, "Waiting for the Job of an earlier Suite of this name to be deleted.")
	if left := w.HasJob("run"); left.UID != earlier.UID || left.DeletionTimestamp != nil {
		t.Error("the Job of the earlier Suite was touched")
	}
	w.Delete(earlier)
	w.Runs("run")
}

// TestPodsOfAnEarlierJob: such pods have the label with the Job's name, but do not affect the outcome of the run.
func TestPodsOfAnEarlierJob(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	earlier := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "earlier", Labels: map[string]string{batchv1.JobNameLabel: "run"}},
		Spec:       build.Trigger("smoke").Spec.JobTemplate.Spec.Template.Spec,
	}
	w.Create(earlier)
	w.Status(earlier, func() {
		earlier.Status.Phase = corev1.PodFailed
		earlier.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 66, FinishedAt: metav1.Now()}}}}
	})
	w.Create(build.Suite("run", 0))
	w.Ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	w.Reaches("run", v1alpha1.ReasonError, "The pod was deleted before its end was seen")
}
