package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

// failedWorld has a store, and a Trigger whose runs have to have 120 tests.
func failedWorld(t *testing.T) *world.World {
	t.Helper()
	w := world.Empty(t)
	w.Reports = &world.Reports{ByRun: map[string]results.Document{}}
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{MinTests: 120} }))
	w.StartManager()
	return w
}

// ran120 is a run of 120 tests, of which three failed.
func ran120(w *world.World, name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	w.T.Helper()
	t := build.Trigger("smoke")
	w.Read(t)
	w.Start(build.Suite(name, 0, append([]func(*v1alpha1.Suite){func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = t.UID }}, change...)...))
	endsTests(w, name, 120, 7, 8, 9)
	s := w.Reaches(name, v1alpha1.ReasonFailed, "")
	if r := s.Status.Results; r == nil || r.Tests != 120 || r.Failed != 3 || !r.OnlyTestsFailed {
		w.T.Fatalf("%+v", r)
	}
	return s
}

// endsTests ends a run with a report of tests 1 to n, some of which failed.
func endsTests(w *world.World, name string, n int, failed ...int) {
	w.T.Helper()
	var numbers []int
	for i := range n {
		numbers = append(numbers, i+1)
	}
	ranTests(w, name, numbers, failed...)
}

func ranTests(w *world.World, name string, numbers []int, failed ...int) {
	w.T.Helper()
	var report strings.Builder
	for _, n := range numbers {
		said := ""
		for _, f := range failed {
			if f == n {
				said = `<failure message="no"/>`
			}
		}
		fmt.Fprintf(&report, `<testcase name="test %d" classname="cart.spec.ts" time="1">%s</testcase>`, n, said)
	}
	p := w.PodOf(name)
	tests := results.Tests{Rerun: results.NameSet(environmentOf(initContainer(p, job.CollectContainer))[job.CollectRerunVariable])}
	tests.Add("junit.xml", strings.NewReader("<testsuites><testsuite>"+report.String()+"</testsuite></testsuites>"))
	summary := tests.Summary()
	w.Reports.Mu.Lock()
	w.Reports.ByRun[name] = results.Document{Run: name, Counts: tests.Counts, Failures: tests.Failures, RerunPassed: summary.RerunPassed}
	w.Reports.Mu.Unlock()
	code := int32(min(len(failed), 1))
	w.Status(p, func() {
		fakecluster.EndPod(p, code)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{fakecluster.ContainerStatus(job.CollectContainer, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now(), Message: results.Message(summary)},
		})}
	})
	if code == 0 {
		w.Passes(name)
		return
	}
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

func initContainer(p *corev1.Pod, name string) corev1.Container {
	i := slices.IndexFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	return p.Spec.InitContainers[i]
}

func environmentOf(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, v := range c.Env {
		all[v.Name] = v.Value
	}
	return all
}

// repeatsFailed creates the attempt that repeats only the failed tests.
func repeatsFailed(w *world.World, of *v1alpha1.Suite) string {
	w.T.Helper()
	t := build.Trigger("smoke")
	w.Read(t)
	next, problem := rerun.NextFailed(of, t, "ada")
	if problem != "" {
		w.T.Fatal(problem)
	}
	next.Spec.DeployedAt = new(of.DeployedAt())
	w.Must(w.Client.Create(context.Background(), next))
	return next.Name
}

// TestOnlyFailedPass: three of 120 tests failed; their repetition runs these, and is green together with the run.
func TestOnlyFailedPass(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	next := repeatsFailed(w, ran120(w, "run"))
	w.Runs(next)
	j := w.HasJob(next)
	var file job.PackedFile
	prepares := environmentOf(j.Spec.Template.Spec.InitContainers[0])
	w.Must(json.Unmarshal([]byte(prepares[job.PrepareFileVariable+"0"]), &file))
	if content, err := file.Unpack(); err != nil || string(content) != "cart.spec.ts > test 7\ncart.spec.ts > test 8\ncart.spec.ts > test 9\n" {
		t.Errorf("%q %v", content, err)
	}
	if v := environmentOf(j.Spec.Template.Spec.Containers[0])[failedtests.FileVariable]; v != "/postflight/tools/failed-tests.txt" {
		t.Errorf("the file is %q", v)
	}
	if v := environmentOf(j.Spec.Template.Spec.Containers[0])[failedtests.GoVariable]; v != "" {
		t.Errorf("these are no tests of Go, and it has %q", v)
	}
	if v, want := environmentOf(j.Spec.Template.Spec.Containers[0])[failedtests.JestVariable], `^test\s+7$$|^test\s+8$$|^test\s+9$$`; v != want {
		t.Errorf("%q", v)
	}
	ranTests(w, next, []int{7, 8, 9})
	s := w.Reaches(next, v1alpha1.ReasonPassed, "3 failed tests of run passed; the other 117 passed there.")
	if s.Status.DecidedBy != v1alpha1.DecidedByTests || s.Status.Results.Tests != 3 {
		t.Errorf("%+v", s.Status)
	}
}

// TestOnlyFailedUnseen: without workloads, a Trigger that matches not every deployment cannot show that nothing else was deployed.
func TestOnlyFailedUnseen(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := ran120(w, "run")
	w.Change(build.Trigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Match.Branches = []string{"main"} })
	next := repeatsFailed(w, of)
	s := w.Reaches(next, v1alpha1.ReasonInconclusive, "does not match all deployments to the Environment")
	if want := "postflight runs rerun " + next; !strings.Contains(s.Succeeded().Message, want) {
		t.Errorf("%q, want %q", s.Succeeded().Message, want)
	}
}

// TestOnlyFailedFail: one fails again, one was left out, and in the end all have passed in one of three runs.
func TestOnlyFailedFail(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	second := repeatsFailed(w, ran120(w, "run"))
	w.Runs(second)
	ranTests(w, second, []int{7, 8}, 8)
	s := w.Reaches(second, v1alpha1.ReasonFailed, "")
	third := repeatsFailed(w, s)
	w.Runs(third)
	ranTests(w, third, []int{8})
	s = w.Reaches(third, v1alpha1.ReasonFailed, "Of 2 failed tests of "+second+", 1 did not run here or did not pass")
	if s.Status.DecidedBy != v1alpha1.DecidedByTests {
		t.Errorf("%q", s.Status.DecidedBy)
	}
}

func TestOnlyFailedInARow(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	second := repeatsFailed(w, ran120(w, "run"))
	w.Runs(second)
	ranTests(w, second, []int{7, 8, 9}, 8)
	third := repeatsFailed(w, w.Reaches(second, v1alpha1.ReasonFailed, ""))
	w.Runs(third)
	ranTests(w, third, []int{8})
	w.Reaches(third, v1alpha1.ReasonPassed, "1 failed test of "+second+" passed; the other 119 passed there or in run.")
}

// TestDeployedInBetween: what was deployed between the two, or while the second ran, makes them no gate.
func TestDeployedInBetween(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	other := func(name string) {
		w.Create(build.Suite(name, 10, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "b776998a" }))
		w.HasJob(name)
	}
	of := ran120(w, "run")
	next := repeatsFailed(w, of)
	w.Runs(next)
	other("meanwhile")
	ranTests(w, next, []int{7, 8, 9})
	w.Reaches(next, v1alpha1.ReasonInconclusive, "b776998a was deployed to staging before they ended, so that they may have tested that. The run meanwhile tests what is there.")

	deleteSuite(w, next)
	next = repeatsFailed(w, of)
	w.Reaches(next, v1alpha1.ReasonInconclusive, "After the run run began, b776998a was deployed to the Environment.")
	w.HasNoJob(next)
}

// TestOnlyFailedOfAnotherVersion: no notification tells of it, but the workloads do.
func TestOnlyFailedOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.Stop()
	w.Reports = &world.Reports{ByRun: map[string]results.Document{}}
	trigger := build.Trigger("smoke")
	w.Change(trigger, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Results = &v1alpha1.Results{MinTests: 120} })
	w.StartManager()
	of := ran120(w, "run", testsCommit(1))
	w.Change(web, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(2)) })
	w.RollsOut(web)
	next := repeatsFailed(w, of)
	w.Reaches(next, v1alpha1.ReasonInconclusive, "What was tested changed after the run run: The Deployment web had 11111111, and has 22222222.")
	w.HasNoJob(next)
}

// TestOnlyFailedWithoutStore: it waits for the store, and for other tests it does not start.
func TestOnlyFailedWithoutStore(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := ran120(w, "run")
	w.Reports.Breaks(errors.New("connection refused"))
	next := repeatsFailed(w, of)
	w.Reaches(next, v1alpha1.ReasonQueued, "Waiting for the store, which has the failed tests of the run run: connection refused.")
	w.Reports.Breaks(nil)
	w.Runs(next)
	ranTests(w, next, []int{7, 8, 9}, 7)
	last := w.Reaches(next, v1alpha1.ReasonFailed, "")

	trigger := build.Trigger("smoke")
	w.Change(trigger, func(o client.Object) {
		o.(*v1alpha1.Trigger).Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = "test:2"
	})
	w.Reaches(repeatsFailed(w, last), v1alpha1.ReasonInconclusive, "The Trigger or the Environment was changed after the run")
}

// TestFalseClaim: a Suite that is made by hand gains nothing by a claim.
func TestFalseClaim(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := ran120(w, "run")
	w.Create(build.Suite("claim", 10, func(s *v1alpha1.Suite) {
		s.Spec.Trigger.UID, s.Spec.Attempt, s.Spec.Deployment.SHA = of.Spec.Trigger.UID, 2, "b776998a"
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "run", UID: of.UID}
	}))
	w.Reaches("claim", v1alpha1.ReasonError, "is not the attempt before this one of the same commit")
	w.HasNoJob("claim")
}
