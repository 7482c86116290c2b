package failure_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/suites"
)

const (
	sha      = "9c1d2e3f4a5b60718293a4b5c6d7e8f901234567"
	greenSHA = "b776998a1c2d3e4f5061728394a5b6c7d8e9f012"
)

var now = suites.After(120)

func at(seconds int) metav1.Time { return metav1.NewTime(suites.After(seconds)) }

// aRun tests a commit of acme/shop.
func aRun(change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return suites.ASuite("smoke-1", 0, append([]func(*v1alpha1.Suite){func(s *v1alpha1.Suite) {
		s.UID = "uid-1"
		s.Spec.Origin = v1alpha1.OriginNotification
		s.Spec.Deployment = v1alpha1.Deployment{
			SHA: sha, Branch: "main", Repository: "acme/shop", URL: "https://staging.example.com", CommitMessage: "Round prices half up",
			CommitAuthor: "Ada", CommitURL: "https://github.com/acme/shop/commit/" + sha,
		}
	}}, change...)...)
}

// observed is a run with a Trigger, an Environment and a Team.
func observed(change ...func(*lifecycle.Observation)) lifecycle.Observation {
	o := lifecycle.Observation{Suite: aRun(), Definition: lifecycle.Definition{
		Trigger: suites.ATrigger(), Environment: suites.AnEnvironment(), Team: suites.ATeam(),
	}}
	for _, c := range change {
		c(&o)
	}
	return o
}

// withJob is a run whose Job and pods say how it is.
func withJob(j *batchv1.Job, pods []corev1.Pod, change ...func(*lifecycle.Observation)) lifecycle.Observation {
	return observed(append([]func(*lifecycle.Observation){func(o *lifecycle.Observation) {
		o.SetJob(j, outcome.Observe(j, pods))
	}}, change...)...)
}

// reconcile does what the controller does until there is nothing left to do, with pods that stop at once.
func reconcile(t *testing.T, o lifecycle.Observation, now time.Time) *v1alpha1.Suite {
	t.Helper()
	s := o.Suite
	for range 12 {
		d := lifecycle.Decide(o, now)
		lifecycle.SetStatus(s, o, d, now)
		switch d.Action {
		case lifecycle.ReadLedger, lifecycle.CompleteLedger:
			o.Complete = d.Action == lifecycle.CompleteLedger
			o.Ledger = suites.ALedger(append(o.Stream, s)...)
		case lifecycle.CreateSuccessor:
			o.Successor.Run = s.Status.RepeatedBy
		case lifecycle.StopPods, lifecycle.DeleteJob:
			o.StopRequested(now)
			o.Stopping.Done = true
		case lifecycle.RequestSlot, lifecycle.FindInputs, lifecycle.FindFailed, lifecycle.CreateJob, lifecycle.EndPods,
			lifecycle.CompareWorkloads, lifecycle.CompareTests, lifecycle.DeleteSuite:
			t.Fatalf("the case has to have the result of %s", d.Action)
		case lifecycle.Report:
			if d.RequeueAfter != time.Nanosecond {
				return s
			}
		}
	}
	t.Fatal("there is always something left to do")
	return nil
}

func aJob(change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "demo", CreationTimestamp: at(0)},
		Spec:       batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(1800))},
	}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test"}}
	j.Status.StartTime = new(at(1))
	for _, c := range change {
		c(j)
	}
	return j
}

func ended(kind batchv1.JobConditionType, reason string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: at(60),
		})
	}
}

func complete(j *batchv1.Job) {
	ended(batchv1.JobComplete, batchv1.JobReasonCompletionsReached)(j)
	j.Status.Succeeded, j.Status.CompletionTime = 1, new(at(60))
}

func jobFailed(j *batchv1.Job) {
	ended(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)(j)
	j.Status.Failed = 1
}

func tooLate(j *batchv1.Job) { ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)(j) }

// keepsResults is a Job of a Trigger with results.
func keepsResults(j *batchv1.Job) {
	j.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
}

func quarantining(j *batchv1.Job) {
	keepsResults(j)
	j.Annotations = job.WithResults(j, job.Results{Quarantines: quarantine.Applied{Rules: []quarantine.Rule{
		{Name: "flaky-cart", Until: "2026-12-01", Tests: []string{"cart*"}},
	}}}).Annotations
}

func failsWithFewer(j *batchv1.Job) {
	keepsResults(j)
	j.Annotations = job.WithResults(j, job.Results{
		Required: results.Requirement{Fewer: results.Fewer{Policy: v1alpha1.FewerTestsFail}},
	}).Annotations
}

// aPod on a node, whose container "test" is in a state.
func aPod(phase corev1.PodPhase, state corev1.ContainerState, change ...func(*corev1.Pod)) []corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1-x7k2p", Namespace: "demo", CreationTimestamp: at(1)},
		Spec: corev1.PodSpec{NodeName: "node-1", RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "test", Image: "registry.example.com/tests:4"}}},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "test", State: state}}},
	}
	for _, c := range change {
		c(&p)
	}
	return []corev1.Pod{p}
}

func exit(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: at(5), FinishedAt: at(50),
	}}
}

var (
	exits0  = exit(0, "Completed", "")
	exits1  = exit(1, "Error", "")
	killed  = exit(137, "OOMKilled", "")
	runs    = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(5)}}
	waiting = func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
)

// initContainer adds one of Postflight's own.
func initContainer(name string, state corev1.ContainerState, policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "postflight:1", RestartPolicy: policy})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}

// collected is a pod whose collector has ended with a message.
func collected(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
		s := exit(0, "Completed", message)
		s.Terminated.FinishedAt = at(55)
		initContainer(job.CollectContainer, s, new(corev1.ContainerRestartPolicyAlways))(p)
	}
}

// reports is a pod with a report of so many tests.
func reports(tests, failed int32, change ...func(*results.Summary)) func(*corev1.Pod) {
	s := results.Summary{Counts: results.Counts{Reports: 1, Tests: tests, Passed: tests - failed, Failed: failed}}
	for i := range failed {
		s.Failures = append(s.Failures, v1alpha1.TestFailure{
			Name: fmt.Sprintf("cart > keeps item %d", i+1), File: "cart.spec.ts", Line: 12 + i, Message: fmt.Sprintf("expected %d, received 0", i+1),
		})
	}
	for _, c := range change {
		c(&s)
	}
	return collected(results.Message(s))
}

func failures(history v1alpha1.FailureHistory) func(*results.Summary) {
	return func(s *results.Summary) {
		s.ComparedWith = "smoke-0"
		for i := range s.Failures {
			s.Failures[i].History = history
		}
		if history == v1alpha1.FailureNew {
			s.NewFailures = s.Failed
		} else {
			s.KnownFailures = s.Failed
		}
	}
}

// passedBefore is the last run that passed, with 40 tests.
func passedBefore(o *lifecycle.Observation) { o.PassedBefore = suites.PassedRun("smoke-0", 40) }
