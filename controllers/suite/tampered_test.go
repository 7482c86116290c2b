package suite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

// Whatever people and controllers do to Jobs and Suites: every run ends, frees its slot and its stream, and the
// manager does not send many requests.

const foreignFinalizer = "example.com/keep"

// oneAtATime is a world whose Team may run one Suite at a time.
func oneAtATime(t *testing.T) *world.World {
	w := world.Empty(t)
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	return w
}

// isCalm waits until the manager sends few requests, which takes seconds. A manager that reconciles without a pause never does.
func isCalm(w *world.World) {
	w.T.Helper()
	if tier.Gate() {
		return
	}
	rate := 0.0
	for range 5 {
		if rate = w.Wire.PerSecond(); rate < 5 {
			return
		}
	}
	w.T.Errorf("the manager still sends %.1f requests a second, want fewer than 5", rate)
}

func unlabel(w *world.World, name string) {
	w.T.Helper()
	w.Must(w.Client.Patch(context.Background(), w.HasJob(name), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"postflight.dev/suite":null}}}`))))
}

// TestJobWithoutLabel: a Job that was created before the status named it lost the label by which the cache finds it.
func TestJobWithoutLabel(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	run := build.Suite("run", 0)
	w.Create(run)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Suite"))}}}
	j.Spec = build.Trigger("smoke").Spec.JobTemplate.Spec
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.Create(j)
	w.StartManager()
	w.Create(build.Suite("next", 1))
	s := w.Reaches("run", v1alpha1.ReasonStarting, "")
	if s.Status.JobName != "run" {
		t.Errorf("the Job is not recorded: %+v", s.Status)
	}
	isCalm(w)
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	w.Runs("next")
}

// TestLabelTakenBeforeCancel: the cache never gets the deletion of the Job, and no worker may wait for it.
func TestLabelTakenBeforeCancel(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.StartManager()
	w.Create(build.Suite("run", 0), build.Suite("next", 1))
	w.Runs("run")
	unlabel(w, "run")
	w.Cancel("run", "")
	w.Stopping("run")
	isCalm(w)
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "")
	w.Runs("next")
}

// TestSuiteUnderAForeignFinalizer: the Suite is being deleted, but does not disappear.
func TestSuiteUnderAForeignFinalizer(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.StartManager()
	run, queued := build.Suite("run", 0), build.Suite("queued", 1)
	run.Finalizers, queued.Finalizers = []string{foreignFinalizer}, []string{foreignFinalizer}
	w.Create(run, queued, build.Suite("next", 2))
	w.Runs("run")
	w.Delete(queued)
	w.Reaches("queued", v1alpha1.ReasonCanceled, "The Suite was deleted.")
	w.Delete(run)
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "The Suite was deleted.")
	w.Runs("next")
	w.HasNoJob("queued")
	isCalm(w)
}

// TestJobUnderAForeignFinalizer: the Job is being deleted, but does not disappear after its pods.
func TestJobUnderAForeignFinalizer(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.StartManager()
	w.Create(build.Suite("run", 0), build.Suite("next", 1))
	w.Runs("run")
	w.Must(w.Client.Patch(context.Background(), w.HasJob("run"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["`+foreignFinalizer+`"]}}`))))
	w.Cancel("run", "")
	w.Stopping("run")
	for range 5 { // the pod does not stop in time
		w.Clock.MoveOn(20 * time.Second)
		w.Touch("run")
		isCalm(w)
	}
	w.IsDeleting("run")
	isCalm(w)
	w.Reaches("run", v1alpha1.ReasonRunning, "Stopping the pods of this run") // one is left
	w.PodStops("run")
	w.Clock.MoveOn(time.Minute)
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "")
	w.Runs("next")
}

// TestNodeIsGone: the node of a pod is lost after its run was superseded, or after the pod was evicted.
func TestNodeIsGone(t *testing.T) {
	for name, stop := range map[string]func(*world.World){
		"Superseded": func(w *world.World) { w.Create(build.Suite("next", 1, build.Keyed("k"))) },
		"Evicted": func(w *world.World) { // which the Job controller counts as a failure
			j := w.HasJob("run")
			w.Status(j, func() {
				j.Status.Active, j.Status.Ready, j.Status.Terminating = 0, new(int32(0)), new(int32(1))
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue,
					Reason: batchv1.JobReasonBackoffLimitExceeded, LastTransitionTime: metav1.Now()}}
			})
			w.Create(build.Suite("next", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oneAtATime(t)
			w.StartManager()
			w.Start(build.Suite("run", 0, build.Keyed("k")))
			stop(w)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "run-pod", Namespace: w.NS}}
			w.Delete(pod) // there is no kubelet that stops it
			w.Clock.MoveOn(9 * time.Minute)
			w.Touch("run")
			w.Reaches("run", v1alpha1.ReasonRunning, "")
			w.HasNoJob("next")
			w.Clock.MoveOn(3 * time.Minute)
			w.Touch("run")
			w.Reaches("run", v1alpha1.ReasonError, `The pod run-pod was deleted, and its node "node" did not confirm within 10m that it has stopped`)
			w.Reaches("run", v1alpha1.ReasonError, "The pod may still be running.")
			w.Runs("next")
			isCalm(w)
		})
	}
}

// TestOrphanedPods: the Job was deleted without its pods, which continue to run.
func TestOrphanedPods(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.StartManager()
	w.Create(build.Suite("run", 0), build.Suite("next", 1))
	w.Runs("run")
	w.Delete(w.HasJob("run"))
	w.Reaches("run", v1alpha1.ReasonRunning, "Stopping the pods of this run")
	isCalm(w)
	w.Clock.MoveOn(12 * time.Minute)
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonError, "its pods still run, and nothing stops them")
	w.HasJob("next")
}

// TestDeadlineIsTakenAway: the deadline of a Job was removed, and its tests hang.
func TestDeadlineIsTakenAway(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.Create(build.Trigger("brief", func(t *v1alpha1.Trigger) { t.Spec.Timeout = &metav1.Duration{Duration: time.Minute} }))
	w.StartManager()
	w.Create(build.Suite("run", 0, build.OfTrigger("brief")), build.Suite("next", 1))
	w.Runs("run")
	w.Must(w.Client.Patch(context.Background(), w.HasJob("run"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"activeDeadlineSeconds":null}}`))))
	w.Clock.MoveOn(2 * time.Minute)
	w.Touch("run")
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonTimedOut, "longer than its timeout of 1m")
	w.Runs("next")
}

// TestTeamIsDeleted: without exactly one Team the limits are unknown, so no run starts.
func TestTeamIsDeleted(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	suspended := w.HasTeam(func(t *v1alpha1.Team) { t.Spec.Suspended = true })
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	w.StartManager()
	w.Create(build.Suite("run", 0))
	w.Reaches("run", v1alpha1.ReasonQueued, "The team is suspended")
	w.Delete(suspended)
	w.Reaches("run", v1alpha1.ReasonQueued, "to belong to exactly one Team")
	w.Create(build.Team(w.NS+"-a", w.NS))
	other := build.Team(w.NS+"-b", w.NS)
	w.HasJob("run")
	w.Create(other)
	w.Create(build.Suite("contested", 1))
	w.Reaches("contested", v1alpha1.ReasonQueued, "to belong to exactly one Team")
	isCalm(w)
	w.Delete(other)
	w.HasJob("contested")
}

// TestRefusedJobKeepsNoSlot: a webhook for the Jobs of one Trigger is down. Meanwhile its run takes no slot, and in
// the end it fails.
func TestRefusedJobKeepsNoSlot(t *testing.T) {
	t.Parallel()
	f := jobAnswer(apierrors.NewInternalError(errors.New(`failed calling webhook "w"`)))
	f.within = `"postflight.dev/trigger":"refused"`
	w := oneAtATime(t)
	w.ManagerConfig.Wrap(f.wrap)
	w.ManagerConfig.ContentType = "application/json" // so that the fault can read it
	w.Create(build.Trigger("refused"))
	w.StartManager()
	w.Create(build.Suite("run", 0, build.OfTrigger("refused")))
	w.Reaches("run", v1alpha1.ReasonQueued, `failed calling webhook "w"`)
	w.Create(build.Suite("next", 1), build.Suite("last", 2))
	w.Runs("next")
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonQueued, "at position 1 in the queue") // it is its turn again
	w.Passes("next")
	w.Runs("last")
	isCalm(w)
	w.Passes("last")
	w.Clock.MoveOn(31 * time.Minute)
	w.Touch("run")
	w.Reaches("run", v1alpha1.ReasonError, `did not accept the Job for 30m`)
}

// TestContainerNamedLikeOurs: such a container could put files into the status that were never downloaded.
func TestContainerNamedLikeOurs(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("named", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "postflight-fetch", Image: "test",
			Env: []corev1.EnvVar{{Name: "FETCH_FILE_0", Value: `{"path":"../etc/passwd","size":-1}`}}}}
	}))
	w.Create(build.Suite("run", 0, build.OfTrigger("named")))
	w.Reaches("run", v1alpha1.ReasonError, "has a container named postflight-fetch")
	w.HasNoJob("run")
}

// TestRetentionIsTheSuites: a run is not deleted earlier because its Trigger was deleted.
func TestRetentionIsTheSuites(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0, func(s *v1alpha1.Suite) { s.Spec.TTLAfterFinished = &metav1.Duration{Duration: 8760 * time.Hour} }))
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonPassed, "")
	w.Delete(build.Trigger("smoke"))
	w.Clock.MoveOn(30 * 24 * time.Hour)
	w.Touch("run")
	w.Create(build.Suite("late", 1)) // whose end shows that the manager has reconciled
	w.Reaches("late", v1alpha1.ReasonQueued, "Waiting for the Trigger")
	w.Clock.MoveOn(time.Minute)
	w.Touch("late")
	w.Reaches("late", v1alpha1.ReasonError, "")
	if s := w.Reaches("run", v1alpha1.ReasonPassed, ""); s.DeletionTimestamp != nil {
		t.Error("it is being deleted")
	}
}
