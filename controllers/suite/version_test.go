package suite_test

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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

// awaitsVersions lets runs wait for the workloads for at most a time.
func awaitsVersions(limit time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Ready = &v1alpha1.Ready{Timeout: &metav1.Duration{Duration: limit}} }
}

func deploys(n int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = "acme/shop", build.Commit(n)
	}
}

// versionWorld has an Environment whose Deployment web has commit 1, a Team with one slot, a Trigger "smoke" whose runs wait for their
// version, and one whose runs do not.
func versionWorld(t *testing.T, limit time.Duration) (w *world.World, staging *v1alpha1.Environment, web *appsv1.Deployment) {
	t.Helper()
	w = world.Empty(t)
	w.Notifier = &world.Notifier{}
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Grant("ClusterRole", world.WorkloadsReader)
	staging, web = build.Environment("staging"), build.Deployment("web", build.Commit(1))
	staging.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "acme/shop"}}
	w.Create(staging, web, build.Trigger("smoke", awaitsVersions(limit)), build.Trigger("eager"))
	w.StartManager()
	w.RollsOut(web)
	w.HasDeployed(staging, build.Commit(1)+" true")
	return w, staging, web
}

// awaits waits until a run says how far its version is.
func awaits(w *world.World, name, progress string) {
	w.T.Helper()
	if s := w.Reaches(name, v1alpha1.ReasonQueued, progress); !s.AwaitsDeployment() {
		w.T.Errorf("%s lacks the condition: %+v", name, s.Status.Conditions)
	}
	w.HasNoJob(name)
}

// TestRunWaitsForItsVersion without a slot, says how far it is, and starts when the rollout is complete.
func TestRunWaitsForItsVersion(t *testing.T) {
	t.Parallel()
	w, staging, web := versionWorld(t, time.Hour)
	w.Start(build.Suite("there", 0, deploys(1)))
	w.Create(build.Suite("next", 1, deploys(2)))
	awaits(w, "next", "Deployment web has "+build.Commit(1)[:8]+".")
	w.Create(build.Suite("other", 2, deploys(2), build.OfTrigger("eager")))
	w.Reaches("other", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Passes("there")
	w.Runs("other") // it overtakes

	w.Change(web, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(2)) })
	awaits(w, "next", "Deployment web is being rolled out.")
	w.Status(web, func() { web.Status.ObservedGeneration, web.Status.UpdatedReplicas = web.Generation, 0 })
	awaits(w, "next", "0 of 1 replicas of the Deployment web have it.")
	w.Stop()
	w.StartManager() // it loses nothing
	w.RollsOut(web)
	w.HasDeployed(staging, build.Commit(2)+" true")
	w.Reaches("next", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Passes("other")
	w.Runs("next")
	w.Passes("next")
	w.Reaches("next", v1alpha1.ReasonPassed, "")
}

// TestVersionThatNeverComes ends the run as Error, also if the manager was off meanwhile.
func TestVersionThatNeverComes(t *testing.T) {
	t.Parallel()
	w, _, _ := versionWorld(t, 10*time.Minute)
	w.Create(build.Suite("next", 0, deploys(2)))
	awaits(w, "next", "The run ends as Error if that takes longer than 10m.")
	w.Stop()
	w.Clock.MoveOn(10 * time.Minute)
	w.StartManager()
	w.Reaches("next", v1alpha1.ReasonError, "staging has "+build.Commit(1)[:8]+" of acme/shop, not "+build.Commit(2)[:8]+": the rollout did not happen within 10m.")
	w.HasNoJob("next")
}

// TestTimeLimitOfAVersion needs no event: a timer ends the run.
func TestTimeLimitOfAVersion(t *testing.T) {
	t.Parallel()
	w, _, _ := versionWorld(t, 10*time.Second)
	w.Create(build.Suite("next", 0, deploys(2)))
	awaits(w, "next", "longer than 10s.")
	w.Reaches("next", v1alpha1.ReasonError, "within 10s.")
}

// TestSupersedingARunThatWaitsForItsVersion: a newer deployment does it, and canceling ends the wait.
func TestSupersedingARunThatWaitsForItsVersion(t *testing.T) {
	t.Parallel()
	w, staging, web := versionWorld(t, time.Hour)
	w.Create(build.Suite("older", 0, deploys(2), build.Keyed("main")))
	awaits(w, "older", "Deployment web has ")
	w.Create(build.Suite("newest", 1, deploys(3), build.Keyed("main")), build.Suite("canceled", 2, deploys(2)))
	w.Reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newest")
	awaits(w, "newest", "Deployment web has ")
	awaits(w, "canceled", "Deployment web has ")
	w.Cancel("canceled", "ben")
	w.Reaches("canceled", v1alpha1.ReasonCanceled, "Canceled by ben.")
	w.Change(web, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(3)) })
	w.RollsOut(web)
	w.HasDeployed(staging, build.Commit(3)+" true")
	w.Runs("newest")
}

// TestWhatARunNoLongerWaitsFor: it starts once the Trigger or the Environment says that there is nothing to wait for.
func TestWhatARunNoLongerWaitsFor(t *testing.T) {
	t.Parallel()
	w, staging, _ := versionWorld(t, time.Hour)
	w.Must(w.Client.DeleteAllOf(context.Background(), &v1alpha1.Team{}, client.MatchingLabels{world.LabelTest: w.NS}))
	w.HasTeam()
	strict := build.Trigger("strict", awaitsVersions(time.Hour))
	w.Create(strict, build.Suite("a", 0, deploys(2)), build.Suite("b", 1, deploys(2), build.OfTrigger("strict")))
	awaits(w, "a", "Deployment web has ")
	awaits(w, "b", "Deployment web has ")
	w.Change(build.Trigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Ready = nil })
	w.Runs("a")
	awaits(w, "b", "Deployment web has ")
	w.NamesWorkloads(staging)
	w.Runs("b")
	w.Ready(strict, "True", "Warning", "Its spec.ready has no effect")
}

// asksForVersions lets the pods of runs ask before their tests, which may be repeated.
func asksForVersions(t *v1alpha1.Trigger) {
	t.Spec.Ready = &v1alpha1.Ready{HTTP: &v1alpha1.ReadyHTTP{Path: "/version", JSON: &v1alpha1.ReadyJSON{Pointer: "/commit"}}}
	t.Spec.JobTemplate.Spec.BackoffLimit = new(int32(2))
}

// TestRunAsksForItsVersion: it is Starting meanwhile, and ends as Error if the version does not answer.
func TestRunAsksForItsVersion(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("asks", asksForVersions), build.Suite("run", 0, build.OfTrigger("asks")))
	j := w.HasJob("run")
	if init := j.Spec.Template.Spec.InitContainers; len(init) != 1 || init[0].Name != job.ReadyContainer || init[0].Image != "postflight:test" {
		t.Fatalf("it does not ask: %+v", init)
	}
	w.Status(j, func() { fakecluster.StartJob(j) })
	asks := fakecluster.ContainerStatus(job.ReadyContainer, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	w.Pod(j, corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{asks}})
	w.Reaches("run", v1alpha1.ReasonStarting, "Waiting for https://staging.example.com/version to have 5ca1ab1e. Follow it: ")

	p := w.PodOf("run")
	w.Status(p, func() {
		p.Status.Phase = corev1.PodFailed
		p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: job.ExitNotReady, Reason: "Error", FinishedAt: metav1.Now(), Message: `https://staging.example.com/version said "b776998a" instead of 5ca1ab1e, for 10m.`,
		}}
	})
	w.Fails("run", batchv1.JobReasonPodFailurePolicy)
	w.Reaches("run", v1alpha1.ReasonError, `The right version did not answer: https://staging.example.com/version said "b776998a" instead of 5ca1ab1e, for 10m. Check what is deployed`)
}

// TestRunCannotAskForItsVersion without a URL: it says so, and has no Job.
func TestRunCannotAskForItsVersion(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("nowhere", func(e *v1alpha1.Environment) { e.Spec.URL = "" }), build.Trigger("asks", asksForVersions), build.Suite("run", 0, build.OfTrigger("asks"), build.InEnvironment("nowhere")))
	w.Reaches("run", v1alpha1.ReasonError, `has only a path, and the run has no URL. Set the url of Environment "nowhere"`)
	w.HasNoJob("run")
}
