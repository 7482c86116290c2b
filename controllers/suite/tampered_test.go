package controllers_test

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
	"github.com/postflight-dev/postflight/test/tier"
)

// Whatever people and controllers do to Jobs and Suites: every run ends, frees its slot and its stream, and the
// manager does not send many requests.

const foreignFinalizer = "example.com/keep"

// oneAtATime is a world whose Team may run one Suite at a time.
func oneAtATime(t *testing.T) *world {
	w := emptyWorld(t)
	w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	return w
}

// isCalm waits until the manager sends few requests, which takes seconds. A manager that reconciles without a pause never does.
func (w *world) isCalm() {
	w.t.Helper()
	if tier.Gate() {
		return
	}
	rate := 0.0
	for range 5 {
		if rate = w.wire.perSecond(); rate < 5 {
			return
		}
	}
	w.t.Errorf("the manager still sends %.1f requests a second, want fewer than 5", rate)
}

func (w *world) unlabel(name string) {
	w.t.Helper()
	w.must(w.Client.Patch(context.Background(), w.hasJob(name), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"postflight.dev/suite":null}}}`))))
}

// TestJobWithoutLabel: a Job that was created before the status named it lost the label by which the cache finds it.
func TestJobWithoutLabel(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	run := aSuite("run", 0)
	w.create(run)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Suite"))}}}
	j.Spec = aTrigger("smoke").Spec.JobTemplate.Spec
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.create(j)
	w.startManager()
	w.create(aSuite("next", 1))
	s := w.reaches("run", v1alpha1.ReasonStarting, "")
	if s.Status.JobName != "run" {
		t.Errorf("the Job is not recorded: %+v", s.Status)
	}
	w.isCalm()
	w.passes("run")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	w.runs("next")
}

// TestLabelTakenBeforeCancel: the cache never gets the deletion of the Job, and no worker may wait for it.
func TestLabelTakenBeforeCancel(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.startManager()
	w.create(aSuite("run", 0), aSuite("next", 1))
	w.runs("run")
	w.unlabel("run")
	w.cancel("run", "")
	w.stopping("run")
	w.isCalm()
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "")
	w.runs("next")
}

// TestSuiteUnderAForeignFinalizer: the Suite is being deleted, but does not disappear.
func TestSuiteUnderAForeignFinalizer(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.startManager()
	run, queued := aSuite("run", 0), aSuite("queued", 1)
	run.Finalizers, queued.Finalizers = []string{foreignFinalizer}, []string{foreignFinalizer}
	w.create(run, queued, aSuite("next", 2))
	w.runs("run")
	w.must(w.Client.Delete(context.Background(), queued))
	w.reaches("queued", v1alpha1.ReasonCanceled, "The Suite was deleted.")
	w.must(w.Client.Delete(context.Background(), run))
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "The Suite was deleted.")
	w.runs("next")
	w.hasNoJob("queued")
	w.isCalm()
}

// TestJobUnderAForeignFinalizer: the Job is being deleted, but does not disappear after its pods.
func TestJobUnderAForeignFinalizer(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.startManager()
	w.create(aSuite("run", 0), aSuite("next", 1))
	w.runs("run")
	w.must(w.Client.Patch(context.Background(), w.hasJob("run"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["`+foreignFinalizer+`"]}}`))))
	w.cancel("run", "")
	w.stopping("run")
	for range 5 { // the pod does not stop in time
		w.clock.moveOn(20 * time.Second)
		w.touch("run")
		w.isCalm()
	}
	w.isDeleting("run")
	w.isCalm()
	w.reaches("run", v1alpha1.ReasonRunning, "Stopping the pods of this run") // one is left
	w.podStops("run")
	w.clock.moveOn(time.Minute)
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "")
	w.runs("next")
}

// TestNodeIsGone: the node of a pod is lost after its run was superseded, or after the pod was evicted.
func TestNodeIsGone(t *testing.T) {
	for name, stop := range map[string]func(*world){
		"Superseded": func(w *world) { w.create(aSuite("next", 1, keyed("k"))) },
		"Evicted": func(w *world) { // which the Job controller counts as a failure
			j := w.hasJob("run")
			w.status(j, func() {
				j.Status.Active, j.Status.Ready, j.Status.Terminating = 0, new(int32(0)), new(int32(1))
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue,
					Reason: batchv1.JobReasonBackoffLimitExceeded, LastTransitionTime: metav1.Now()}}
			})
			w.create(aSuite("next", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oneAtATime(t)
			w.startManager()
			w.create(aSuite("run", 0, keyed("k")))
			w.runs("run")
			stop(w)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "run-pod", Namespace: w.ns}}
			w.must(w.Client.Delete(context.Background(), pod)) // there is no kubelet that stops it
			w.clock.moveOn(9 * time.Minute)
			w.touch("run")
			w.reaches("run", v1alpha1.ReasonRunning, "")
			w.hasNoJob("next")
			w.clock.moveOn(3 * time.Minute)
			w.touch("run")
			w.reaches("run", v1alpha1.ReasonError, `The pod run-pod was deleted, and its node "node" did not confirm within 10m that it has stopped`)
			w.reaches("run", v1alpha1.ReasonError, "The pod may still be running.")
			w.runs("next")
			w.isCalm()
		})
	}
}

// TestOrphanedPods: the Job was deleted without its pods, which continue to run.
func TestOrphanedPods(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.startManager()
	w.create(aSuite("run", 0), aSuite("next", 1))
	w.runs("run")
	w.must(w.Client.Delete(context.Background(), w.hasJob("run"), client.PropagationPolicy("Background")))
	w.reaches("run", v1alpha1.ReasonRunning, "Stopping the pods of this run")
	w.isCalm()
	w.clock.moveOn(12 * time.Minute)
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonError, "its pods still run, and nothing stops them")
	w.hasJob("next")
}

// TestDeadlineIsTakenAway: the deadline of a Job was removed, and its tests hang.
func TestDeadlineIsTakenAway(t *testing.T) {
	t.Parallel()
	w := oneAtATime(t)
	w.create(aTrigger("brief", func(t *v1alpha1.Trigger) { t.Spec.Timeout = &metav1.Duration{Duration: time.Minute} }))
	w.startManager()
	w.create(aSuite("run", 0, of("brief")), aSuite("next", 1))
	w.runs("run")
	w.must(w.Client.Patch(context.Background(), w.hasJob("run"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"activeDeadlineSeconds":null}}`))))
	w.clock.moveOn(2 * time.Minute)
	w.touch("run")
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonTimedOut, "longer than its timeout of 1m")
	w.runs("next")
}

// TestTeamIsDeleted: without exactly one Team the limits are unknown, so no run starts.
func TestTeamIsDeleted(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	suspended := w.hasTeam(func(t *v1alpha1.Team) { t.Spec.Suspended = true })
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	w.startManager()
	w.create(aSuite("run", 0))
	w.reaches("run", v1alpha1.ReasonQueued, "The team is suspended")
	w.must(w.Client.Delete(context.Background(), suspended))
	w.reaches("run", v1alpha1.ReasonQueued, "to belong to exactly one Team")
	w.create(aTeam(w.ns+"-a", w.ns))
	other := aTeam(w.ns+"-b", w.ns)
	w.hasJob("run")
	w.create(other)
	w.create(aSuite("contested", 1))
	w.reaches("contested", v1alpha1.ReasonQueued, "to belong to exactly one Team")
	w.isCalm()
	w.must(w.Client.Delete(context.Background(), other))
	w.hasJob("contested")
}

// TestRefusedJobKeepsNoSlot: a webhook for the Jobs of one Trigger is down. Meanwhile its run takes no slot, and in
// the end it fails.
func TestRefusedJobKeepsNoSlot(t *testing.T) {
	t.Parallel()
	f := jobAnswer(apierrors.NewInternalError(errors.New(`failed calling webhook "w"`)))
	f.within = `"postflight.dev/trigger":"refused"`
	w := oneAtATime(t)
	w.config.Wrap(f.wrap)
	w.config.ContentType = "application/json" // so that the fault can read it
	w.create(aTrigger("refused"))
	w.startManager()
	w.create(aSuite("run", 0, of("refused")))
	w.reaches("run", v1alpha1.ReasonQueued, `failed calling webhook "w"`)
	w.create(aSuite("next", 1), aSuite("last", 2))
	w.runs("next")
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonQueued, "at position 1 in the queue") // it is its turn again
	w.passes("next")
	w.runs("last")
	w.isCalm()
	w.passes("last")
	w.clock.moveOn(31 * time.Minute)
	w.touch("run")
	w.reaches("run", v1alpha1.ReasonError, `did not accept the Job for 30m`)
}

// TestContainerNamedLikeOurs: such a container could put files into the status that were never downloaded.
func TestContainerNamedLikeOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("named", func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "postflight-fetch", Image: "test",
			Env: []corev1.EnvVar{{Name: "FETCH_FILE_0", Value: `{"path":"../etc/passwd","size":-1}`}}}}
	}))
	w.create(aSuite("run", 0, of("named")))
	w.reaches("run", v1alpha1.ReasonError, "has a container named postflight-fetch")
	w.hasNoJob("run")
}

// TestRetentionIsTheSuites: a run is not deleted earlier because its Trigger was deleted.
func TestRetentionIsTheSuites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0, func(s *v1alpha1.Suite) { s.Spec.TTLAfterFinished = &metav1.Duration{Duration: 8760 * time.Hour} }))
	w.runs("run")
	w.passes("run")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	w.must(w.Client.Delete(context.Background(), aTriggerNamed(w, "smoke")))
	w.clock.moveOn(30 * 24 * time.Hour)
	w.touch("run")
	w.create(aSuite("late", 1)) // whose end shows that the manager has reconciled
	w.reaches("late", v1alpha1.ReasonQueued, "Waiting for the Trigger")
	w.clock.moveOn(time.Minute)
	w.touch("late")
	w.reaches("late", v1alpha1.ReasonError, "")
	if s := w.reaches("run", v1alpha1.ReasonPassed, ""); s.DeletionTimestamp != nil {
		t.Error("it is being deleted")
	}
}

func aTriggerNamed(w *world, name string) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
}
