package controllers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

// reports are the documents of results in a store.
type reports struct {
	mu     sync.Mutex
	byRun  map[string]results.Document
	broken error
}

func (r *reports) config() (suitecontroller.Documents, *job.Collector) {
	if r == nil {
		return nil, nil
	}
	return r, &job.Collector{Image: "postflight:test", URL: "http://postflight.example.com"}
}

func (r *reports) Results(_ context.Context, run record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		content, err := json.Marshal(r.byRun[run.ID])
		if r.broken != nil {
			err = r.broken
		}
		yield(record.Results{Pod: run.ID, Content: content}, err)
	}
}

func (r *reports) breaks(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

// failedWorld has a store, and a Trigger whose runs have to have 120 tests.
func failedWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.reports = &reports{byRun: map[string]results.Document{}}
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{MinTests: 120} }))
	w.startManager()
	return w
}

// ran120 is a run of 120 tests, of which three failed.
func (w *world) ran120(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	w.t.Helper()
	t := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("smoke"), t))
	w.create(aSuite(name, 0, append([]func(*v1alpha1.Suite){func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = t.UID }}, change...)...))
	w.runs(name)
	w.endsTests(name, 120, 7, 8, 9)
	s := w.reaches(name, v1alpha1.ReasonFailed, "")
	if r := s.Status.Results; r == nil || r.Tests != 120 || r.Failed != 3 || !r.OnlyTestsFailed {
		w.t.Fatalf("%+v", r)
	}
	return s
}

// endsTests ends a run with a report of tests 1 to n, some of which failed.
func (w *world) endsTests(name string, n int, failed ...int) {
	w.t.Helper()
	var numbers []int
	for i := range n {
		numbers = append(numbers, i+1)
	}
	w.ranTests(name, numbers, failed...)
}

func (w *world) ranTests(name string, numbers []int, failed ...int) {
	w.t.Helper()
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
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p))
	tests := results.Tests{Repeats: results.NameSet(environmentOf(initContainer(p, job.CollectContainer))[job.CollectRepeatsVariable])}
	tests.Add("junit.xml", strings.NewReader("<testsuites><testsuite>"+report.String()+"</testsuite></testsuites>"))
	summary := tests.Summary()
	w.reports.mu.Lock()
	w.reports.byRun[name] = results.Document{Run: name, Counts: tests.Counts, Failures: tests.Failures, RepeatedPassed: summary.RepeatedPassed}
	w.reports.mu.Unlock()
	code := int32(min(len(failed), 1))
	w.status(p, func() {
		fakecluster.EndPod(p, code)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{fakecluster.ContainerStatus(job.CollectContainer, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now(), Message: results.Message(summary)},
		})}
	})
	if code == 0 {
		w.passes(name)
		return
	}
	w.fails(name, batchv1.JobReasonBackoffLimitExceeded)
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
func (w *world) repeatsFailed(of *v1alpha1.Suite) string {
	w.t.Helper()
	t := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("smoke"), t))
	next, problem := rerun.NextFailed(of, t, "ada")
	if problem != "" {
		w.t.Fatal(problem)
	}
	next.Spec.DeployedAt = new(of.DeployedAt())
	w.must(w.Client.Create(context.Background(), next))
	return next.Name
}

// TestOnlyFailedPass: three of 120 tests failed; their repetition runs these, and is green together with the run.
func TestOnlyFailedPass(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	next := w.repeatsFailed(w.ran120("run"))
	w.runs(next)
	j := w.hasJob(next)
	var file job.PackedFile
	prepares := environmentOf(j.Spec.Template.Spec.InitContainers[0])
	w.must(json.Unmarshal([]byte(prepares[job.PrepareFileVariable+"0"]), &file))
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
	w.ranTests(next, []int{7, 8, 9})
	s := w.reaches(next, v1alpha1.ReasonPassed, "3 failed tests of run passed; the other 117 passed there.")
	if s.Status.DecidedBy != v1alpha1.DecidedByTests || s.Status.Results.Tests != 3 {
		t.Errorf("%+v", s.Status)
	}
}

// TestOnlyFailedUnseen: without workloads, a Trigger that matches not every deployment cannot show that nothing else was deployed.
func TestOnlyFailedUnseen(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := w.ran120("run")
	trigger := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("smoke"), trigger))
	trigger.Spec.Match.Branches = []string{"main"}
	w.must(w.Client.Update(context.Background(), trigger))
	next := w.repeatsFailed(of)
	s := w.reaches(next, v1alpha1.ReasonInconclusive, "does not match all deployments to the Environment")
	if want := "postflight runs rerun " + next; !strings.Contains(s.Succeeded().Message, want) {
		t.Errorf("%q, want %q", s.Succeeded().Message, want)
	}
}

// TestOnlyFailedFail: one fails again, one was left out, and in the end all have passed in one of three runs.
func TestOnlyFailedFail(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	second := w.repeatsFailed(w.ran120("run"))
	w.runs(second)
	w.ranTests(second, []int{7, 8}, 8)
	s := w.reaches(second, v1alpha1.ReasonFailed, "")
	third := w.repeatsFailed(s)
	w.runs(third)
	w.ranTests(third, []int{8})
	s = w.reaches(third, v1alpha1.ReasonFailed, "Of 2 failed tests of "+second+", 1 did not run here or did not pass")
	if s.Status.DecidedBy != v1alpha1.DecidedByTests {
		t.Errorf("%q", s.Status.DecidedBy)
	}
}

func TestOnlyFailedInARow(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	second := w.repeatsFailed(w.ran120("run"))
	w.runs(second)
	w.ranTests(second, []int{7, 8, 9}, 8)
	third := w.repeatsFailed(w.reaches(second, v1alpha1.ReasonFailed, ""))
	w.runs(third)
	w.ranTests(third, []int{8})
	w.reaches(third, v1alpha1.ReasonPassed, "1 failed test of "+second+" passed; the other 119 passed there or in run.")
}

// TestDeployedInBetween: what was deployed between the two, or while the second ran, makes them no gate.
func TestDeployedInBetween(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	other := func(name string) {
		w.create(aSuite(name, 10, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "b776998a" }))
		w.hasJob(name)
	}
	of := w.ran120("run")
	next := w.repeatsFailed(of)
	w.runs(next)
	other("meanwhile")
	w.ranTests(next, []int{7, 8, 9})
	w.reaches(next, v1alpha1.ReasonInconclusive, "b776998a was deployed to staging before they ended, so that they may have tested that. The run meanwhile tests what is there.")

	w.deleteSuite(next)
	next = w.repeatsFailed(of)
	w.reaches(next, v1alpha1.ReasonInconclusive, "After the run run began, b776998a was deployed to the Environment.")
	w.hasNoJob(next)
}

// TestOnlyFailedOfAnotherVersion: no notification tells of it, but the workloads do.
func TestOnlyFailedOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.stop()
	w.reports = &reports{byRun: map[string]results.Document{}}
	trigger := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("smoke"), trigger))
	w.change(trigger, func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Results = &v1alpha1.Results{MinTests: 120} })
	w.startManager()
	of := w.ran120("run", testsCommit(1))
	w.change(web, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(2)) })
	w.rollsOut(web)
	next := w.repeatsFailed(of)
	w.reaches(next, v1alpha1.ReasonInconclusive, "What was tested changed after the run run: The Deployment web had 11111111, and has 22222222.")
	w.hasNoJob(next)
}

// TestOnlyFailedWithoutStore: it waits for the store, and for other tests it does not start.
func TestOnlyFailedWithoutStore(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := w.ran120("run")
	w.reports.breaks(errors.New("connection refused"))
	next := w.repeatsFailed(of)
	w.reaches(next, v1alpha1.ReasonQueued, "Waiting for the store, which has the failed tests of the run run: connection refused.")
	w.reports.breaks(nil)
	w.runs(next)
	w.ranTests(next, []int{7, 8, 9}, 7)
	last := w.reaches(next, v1alpha1.ReasonFailed, "")

	trigger := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("smoke"), trigger))
	w.change(trigger, func(o client.Object) {
		o.(*v1alpha1.Trigger).Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = "test:2"
	})
	w.reaches(w.repeatsFailed(last), v1alpha1.ReasonInconclusive, "The Trigger or the Environment was changed after the run")
}

// TestFalseClaim: a Suite that is made by hand gains nothing by a claim.
func TestFalseClaim(t *testing.T) {
	t.Parallel()
	w := failedWorld(t)
	of := w.ran120("run")
	w.create(aSuite("claim", 10, func(s *v1alpha1.Suite) {
		s.Spec.Trigger.UID, s.Spec.Attempt, s.Spec.Deployment.SHA = of.Spec.Trigger.UID, 2, "b776998a"
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "run", UID: of.UID}
	}))
	w.reaches("claim", v1alpha1.ReasonError, "is not the attempt before this one of the same commit")
	w.hasNoJob("claim")
}
