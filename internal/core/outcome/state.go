package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/job"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/results"
)

// State is the state of a run, as its Job and pods show it.
type State struct {
	Condition     metav1.Condition   // the Succeeded condition of the run
	DecidedBy     v1alpha1.DecidedBy // "" unless the run passed or failed
	Judged        bool               // the containers exited with 0, and reports decide against the run
	PodProblem    string             // why a pod cannot start, or how its container exited before a restart, or ""
	StartingSince time.Time          // zero: the tests have started
	HopelessSince time.Time          // since when the pod waits for a person; zero: it may start by itself
	Started       time.Time          // when the first container of the tests did, or zero
	NotBegun      bool               // no container of the tests has run, and the Job has not ended
	TestsEnded    time.Time          // in pods whose sidecars are stopping; zero: tests run, or all pods have ended
	Collected     *results.Collected // nil: the run keeps no results, or its tests have not begun
	Interrupted   bool               // the run ended as Error, because of what the cluster did
	Unpulled      bool               // PodProblem is an image that could not be pulled, although its registry may have it
	podUnknown    bool               // the message describes no pod, so an earlier problem still counts
}

// Observe derives the state of a run from its Job and pods. It ends with the Job's final conditions, which come once all pods have stopped.
func Observe(j *batchv1.Job, pods []corev1.Pod) State {
	var s State
	c := collected(j, pods)
	switch end := end(j); {
	case end == nil:
		s = unfinished(j, pods)
	case end.Type == batchv1.JobComplete:
		s = completed(j, pods, c)
	default:
		s = failed(j, end, pods)
		if s.Condition.Reason == v1alpha1.ReasonFailed {
			s.DecidedBy = v1alpha1.DecidedByExitCode
		}
		s = excuse(s, j, end, pods, c)
	}
	if s.Condition.Reason == v1alpha1.ReasonFailed {
		s.Condition.Message = countsAgain(j, c) + s.Condition.Message
	}
	withOnlyTests(s, j, pods, c)
	s.Started, s.TestsEnded, s.Collected = started(pods), allTestsEnded(pods), c
	s.NotBegun = end(j) == nil && !begun(j, pods)
	return s
}

func started(pods []corev1.Pod) time.Time {
	var first time.Time
	consider := func(at metav1.Time) {
		if !at.IsZero() && (first.IsZero() || at.Time.Before(first)) {
			first = at.Time
		}
	}
	for _, p := range pods {
		for _, cs := range p.Status.ContainerStatuses {
			if cs.State.Running != nil {
				consider(cs.State.Running.StartedAt)
			}
			for _, t := range []*corev1.ContainerStateTerminated{cs.State.Terminated, cs.LastTerminationState.Terminated} {
				if t != nil {
					consider(t.StartedAt)
				}
			}
		}
	}
	return first
}

// KeepProblem adds a recorded status.podProblem to a state that describes no pod. It never changes how the run ends.
func (s State) KeepProblem(recorded string) State {
	if s.podUnknown && s.PodProblem == "" && recorded != "" {
		s.PodProblem = recorded
		s.Condition.Message += " " + recorded
	}
	return s
}

// KeepRunning keeps a run Running if its recorded state is: a failed pod that is gone and was not counted leaves no trace, and a pod whose
// tests have ended is not ready any more. Without a problem, it also keeps what was said: the pod does not start.
func (s State) KeepRunning(recorded metav1.Condition) State {
	if recorded.Reason != v1alpha1.ReasonRunning || s.StartingSince.IsZero() {
		return s
	}
	if s.Condition.Reason == v1alpha1.ReasonStarting && s.PodProblem == "" {
		s.Condition.Message = recorded.Message
	}
	s.Condition.Reason, s.StartingSince = v1alpha1.ReasonRunning, time.Time{}
	return s
}

// CompletionTime is when the Job ended in any way, or nil.
func CompletionTime(j *batchv1.Job) *metav1.Time {
	end := end(j)
	switch {
	case end == nil:
		return nil
	case j.Status.CompletionTime != nil:
		return j.Status.CompletionTime
	default:
		return &end.LastTransitionTime
	}
}

func end(j *batchv1.Job) *batchv1.JobCondition {
	return cmp.Or(condition(j, batchv1.JobComplete), condition(j, batchv1.JobFailed))
}

func condition(j *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &j.Status.Conditions[i]
}

// completed needs a pod that succeeded: a Job with completions of 0 completes at once and tests nothing.
func completed(j *batchv1.Job, pods []corev1.Pod, c *results.Collected) State {
	if j.Status.Succeeded == 0 {
		return State{Condition: v1alpha1.Error("The Job completed without a pod that succeeded, so nothing was tested. " +
			"Check completions in the jobTemplate of the Trigger, and notify again.")}
	}
	judgment := results.Judgment{By: v1alpha1.DecidedByExitCode}
	if job.KeepsResults(&j.Spec.Template.Spec) {
		judgment = c.Judge(job.RequirementOf(j))
	}
	problem := fmt.Sprintf("%s exited with 0, but %s", testContainer(pods), judgment.Problem)
	switch {
	case judgment.Problem == "" && judgment.By != v1alpha1.DecidedByExitCode && unsuccessful(j) != "":
		return State{Condition: v1alpha1.Failed(unsuccessful(j)), DecidedBy: v1alpha1.DecidedByReport}
	case judgment.Problem == "":
		return State{Condition: passed(j, pods, c, judgment.By), DecidedBy: judgment.By}
	case judgment.Lost:
		return State{Condition: v1alpha1.Error(problem), Judged: true, Interrupted: judgment.Gone}
	default:
		return State{Condition: v1alpha1.Failed(problem), DecidedBy: judgment.By, Judged: true}
	}
}

func testContainer(pods []corev1.Pod) string {
	names := map[string]bool{}
	for _, p := range pods {
		for _, cs := range p.Status.ContainerStatuses {
			names[cs.Name] = true
		}
	}
	if len(names) != 1 {
		return "Every container"
	}
	for name := range names {
		return fmt.Sprintf("Container %q", name)
	}
	return ""
}

// passed quotes the summary that the tests wrote to their termination log, if any.
func passed(j *batchv1.Job, pods []corev1.Pod, c *results.Collected, by v1alpha1.DecidedBy) metav1.Condition {
	how := ""
	if from, to := j.Status.StartTime, CompletionTime(j); from != nil && to != nil {
		how = " in " + plaintext.Duration(to.Sub(from.Time))
	}
	if by == v1alpha1.DecidedByExitCode {
		how += " (exit code only)"
	}
	subject := "The tests"
	switch {
	case c == nil || c.Summary.Reports == 0:
	case c.Summary.Quarantined > 0 && by == v1alpha1.DecidedByTests:
		subject = "The run"
		how += ", with " + results.QuarantinedFailures(c.Summary.Quarantined)
	case c.Summary.Failed > 0:
		subject = "No container failed, so the run" // a sentence with the counts comes before
	default:
		subject = "The run"
	}
	if summary := plaintext.Line(summary(pods), maxSummary); summary != "" {
		return v1alpha1.Passed(fmt.Sprintf("%s passed%s: %s", subject, how, summary))
	}
	return v1alpha1.Passed(fmt.Sprintf("%s passed%s.", subject, how))
}

func summary(pods []corev1.Pod) string {
	for _, p := range slices.SortedFunc(slices.Values(pods), byCreation) {
		for _, cs := range p.Status.ContainerStatuses {
			if t := cs.State.Terminated; p.Status.Phase == corev1.PodSucceeded && t != nil && t.Message != "" {
				return t.Message
			}
		}
	}
	return ""
}

func byCreation(a, b corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
