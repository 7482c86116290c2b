package controllers_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

// awaitsVersions lets runs wait for the workloads for at most a time.
func awaitsVersions(limit time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Ready = &v1alpha1.Ready{Timeout: &metav1.Duration{Duration: limit}} }
}

func deploys(n int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = "acme/shop", commit(n) }
}

// versionWorld has an Environment whose Deployment web has commit 1, a Team with one slot, a Trigger "smoke" whose runs wait for their
// version, and one whose runs do not.
func versionWorld(t *testing.T, limit time.Duration) (w *world, staging *v1alpha1.Environment, web *appsv1.Deployment) {
	t.Helper()
	w = emptyWorld(t)
	w.bell = &bell{}
	w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.grant("ClusterRole", workloadsReader)
	staging, web = anEnvironment("staging"), aDeployment("web", commit(1))
	staging.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}}
	w.create(staging, web, aTrigger("smoke", awaitsVersions(limit)), aTrigger("eager"))
	w.startManager()
	w.rollsOut(web)
	w.has(staging, commit(1)+" true")
	return w, staging, web
}

// awaits waits until a run says how far its version is.
func (w *world) awaits(name, progress string) {
	w.t.Helper()
	if s := w.reaches(name, v1alpha1.ReasonQueued, progress); !s.AwaitsDeployment() {
		w.t.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.hasNoJob(name)
}

// TestRunWaitsForItsVersion without a slot, says how far it is, and starts when the rollout is complete.
func TestRunWaitsForItsVersion(t *testing.T) {
	t.Parallel()
	w, staging, web := versionWorld(t, time.Hour)
	w.create(aSuite("there", 0, deploys(1)))
	w.runs("there")
	w.create(aSuite("next", 1, deploys(2)))
	w.awaits("next", "Deployment web has "+commit(1)[:8]+".")
	w.create(aSuite("other", 2, deploys(2), of("eager")))
	w.reaches("other", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.passes("there")
	w.runs("other") // it overtakes

	w.change(web, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(2)) })
	w.awaits("next", "Deployment web is being rolled out.")
	w.status(web, func() { web.Status.ObservedGeneration, web.Status.UpdatedReplicas = web.Generation, 0 })
	w.awaits("next", "0 of 1 replicas of the Deployment web have it.")
	w.stop()
	w.startManager() // it loses nothing
	w.rollsOut(web)
	w.has(staging, commit(2)+" true")
	w.reaches("next", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.passes("other")
	w.runs("next")
	w.passes("next")
	w.reaches("next", v1alpha1.ReasonPassed, "")
}

// TestVersionThatNeverComes ends the run as Error, also if the manager was off meanwhile.
func TestVersionThatNeverComes(t *testing.T) {
	t.Parallel()
	w, _, _ := versionWorld(t, 10*time.Minute)
	w.create(aSuite("next", 0, deploys(2)))
	w.awaits("next", "The run ends as Error if that takes longer than 10m.")
	w.stop()
	w.clock.moveOn(10 * time.Minute)
	w.startManager()
	w.reaches("next", v1alpha1.ReasonError, "staging has "+commit(1)[:8]+" of acme/shop, not "+commit(2)[:8]+": the rollout did not happen within 10m.")
	w.hasNoJob("next")
}

// TestTimeLimitOfAVersion needs no event: a timer ends the run.
func TestTimeLimitOfAVersion(t *testing.T) {
	t.Parallel()
	w, _, _ := versionWorld(t, 10*time.Second)
	w.create(aSuite("next", 0, deploys(2)))
	w.awaits("next", "longer than 10s.")
	w.reaches("next", v1alpha1.ReasonError, "within 10s.")
}

// TestSupersedingARunThatWaitsForItsVersion: a newer deployment does it, and canceling ends the wait.
func TestSupersedingARunThatWaitsForItsVersion(t *testing.T) {
	t.Parallel()
	w, staging, web := versionWorld(t, time.Hour)
	w.create(aSuite("older", 0, deploys(2), keyed("main")))
	w.awaits("older", "Deployment web has ")
	w.create(aSuite("newest", 1, deploys(3), keyed("main")), aSuite("canceled", 2, deploys(2)))
	w.reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newest")
	w.awaits("newest", "Deployment web has ")
	w.awaits("canceled", "Deployment web has ")
	w.cancel("canceled", "ben")
	w.reaches("canceled", v1alpha1.ReasonCanceled, "Canceled by ben.")
	w.change(web, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(3)) })
	w.rollsOut(web)
	w.has(staging, commit(3)+" true")
	w.runs("newest")
}

// TestWhatARunNoLongerWaitsFor: it starts once the Trigger or the Environment says that there is nothing to wait for.
func TestWhatARunNoLongerWaitsFor(t *testing.T) {
	t.Parallel()
	w, staging, _ := versionWorld(t, time.Hour)
	w.must(w.Client.DeleteAllOf(context.Background(), &v1alpha1.Team{}, client.MatchingLabels{labelTest: w.ns}))
	w.hasTeam()
	strict := aTrigger("strict", awaitsVersions(time.Hour))
	w.create(strict, aSuite("a", 0, deploys(2)), aSuite("b", 1, deploys(2), of("strict")))
	w.awaits("a", "Deployment web has ")
	w.awaits("b", "Deployment web has ")
	w.change(aTrigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Ready = nil })
	w.runs("a")
	w.awaits("b", "Deployment web has ")
	w.names(staging)
	w.runs("b")
	w.ready(strict, "True", "Watching", "Its spec.ready has no effect")
}

// asksForVersions lets the pods of runs ask before their tests, which may be repeated.
func asksForVersions(t *v1alpha1.Trigger) {
	t.Spec.Ready = &v1alpha1.Ready{HTTP: &v1alpha1.ReadyHTTP{Path: "/version", JSON: &v1alpha1.ReadyJSON{Pointer: "/commit"}}}
	t.Spec.JobTemplate.Spec.BackoffLimit = new(int32(2))
}

// TestRunAsksForItsVersion: it is Starting meanwhile, and ends as Error if the version does not answer.
func TestRunAsksForItsVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("asks", asksForVersions), aSuite("run", 0, of("asks")))
	j := w.hasJob("run")
	if init := j.Spec.Template.Spec.InitContainers; len(init) != 1 || init[0].Name != job.ReadyContainer || init[0].Image != "postflight:test" {
		t.Fatalf("it does not ask: %+v", init)
	}
	w.status(j, func() { fakecluster.StartJob(j) })
	asks := fakecluster.ContainerStatus(job.ReadyContainer, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	w.pod(j, corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{asks}})
	w.reaches("run", v1alpha1.ReasonStarting, "Waiting for https://staging.example.com/version to have 5ca1ab1e. Follow it: ")

	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName("run")), p))
	w.status(p, func() {
		p.Status.Phase = corev1.PodFailed
		p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: job.ExitNotReady, Reason: "Error", FinishedAt: metav1.Now(), Message: `https://staging.example.com/version said "b776998a" instead of 5ca1ab1e, for 10m.`,
		}}
	})
	w.fails("run", batchv1.JobReasonPodFailurePolicy)
	w.reaches("run", v1alpha1.ReasonError, `The right version did not answer: https://staging.example.com/version said "b776998a" instead of 5ca1ab1e, for 10m. Check what is deployed`)
}

// TestRunCannotAskForItsVersion without a URL: it says so, and has no Job.
func TestRunCannotAskForItsVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("nowhere", func(e *v1alpha1.Environment) { e.Spec.URL = "" }), aTrigger("asks", asksForVersions), aSuite("run", 0, of("asks"), at("nowhere")))
	w.reaches("run", v1alpha1.ReasonError, `has only a path, and the run has no URL. Set the url of Environment "nowhere"`)
	w.hasNoJob("run")
}
