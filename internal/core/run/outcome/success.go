package outcome

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// completed needs a pod that succeeded: a Job with completions of 0 completes at once and tests nothing.
func completed(j *batchv1.Job, pods []corev1.Pod, c *results.Collected) State {
	if j.Status.Succeeded == 0 && count(pods, succeeded) == 0 {
		return State{Condition: v1alpha1.Error("The Job completed without a pod that succeeded, so nothing was tested. " +
			"Check completions in the jobTemplate of the Trigger, and notify again.")}
	}
	if job.RunsElsewhere(j) {
		return completedElsewhere(j)
	}
	if s, stopped := stoppedSuccess(pods); stopped {
		return s
	}
	judgment := results.Judgment{By: v1alpha1.DecidedByExitCode}
	if job.KeepsResults(&j.Spec.Template.Spec) {
		judgment = c.Judge(job.RequirementOf(j))
	}
	problem := fmt.Sprintf("%s exited with 0, but %s", testContainer(pods), judgment.Problem)
	killed := killedForMemory(pods)
	gone := int(j.Status.Succeeded) - count(pods, succeeded)
	switch {
	case judgment.Problem == "" && judgment.By == v1alpha1.DecidedByExitCode && gone > 0:
		s := noResult(podsLost(gone, int(j.Status.Succeeded)))
		s.Interrupted = true
		return s
	case judgment.Problem == "" && judgment.By == v1alpha1.DecidedByExitCode && killed != "":
		return State{Condition: v1alpha1.Failed(killed), DecidedBy: v1alpha1.DecidedByExitCode}
	case judgment.Problem == "" && judgment.By != v1alpha1.DecidedByExitCode && unsuccessful(j) != "":
		return State{Condition: v1alpha1.Failed(unsuccessful(j)), DecidedBy: v1alpha1.DecidedByReport}
	case judgment.Problem == "":
		return State{Condition: passed(j, pods, c, judgment.By), DecidedBy: judgment.By, Killed: killed}
	case judgment.Lost:
		return State{Condition: v1alpha1.Error(problem), Advice: judgment.Advice, Judged: true, Interrupted: judgment.Gone}
	default:
		return State{Condition: v1alpha1.Failed(problem), DecidedBy: judgment.By, Judged: true}
	}
}

// podsLost is a sentence: a drained pod is gone at once, and its Job may have counted it as succeeded.
func podsLost(gone, all int) string {
	if all == 1 {
		return "The pod that exited with 0 is gone: evicted, drained or deleted. Nothing shows that all its tests ran."
	}
	return fmt.Sprintf("Of the %d pods that exited with 0, %d %s gone: evicted, drained or deleted. Nothing shows that all their tests ran.",
		all, gone, map[bool]string{true: "is", false: "are"}[gone == 1])
}

func testContainer(pods []corev1.Pod) string {
	names := map[string]bool{}
	for _, p := range pods {
		for _, cs := range testStatuses(&p) {
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
		for _, cs := range testStatuses(&p) {
			if t := cs.State.Terminated; succeeded(&p) && t != nil && t.Message != "" {
				return t.Message
			}
		}
	}
	return ""
}

// stoppedSuccess decides about a run if something stopped one of its pods whose containers exited with 0: then their exit code proves
// nothing.
func stoppedSuccess(pods []corev1.Pod) (s State, stopped bool) {
	for _, p := range slices.SortedFunc(slices.Values(pods), byCreation) {
		if !succeeded(&p) {
			continue
		}
		e := endingOf(&p)
		switch {
		case e.cause == causeDiskLimit:
			return State{Condition: v1alpha1.Failed(tooMuchStorage(&p)), DecidedBy: v1alpha1.DecidedByExitCode}, true
		case e.cause == causeTimeLimit, e.stoppedByCluster():
			s = noResult(stoppedMessage(&p, e))
			s.Interrupted = true
			return s, true
		}
	}
	return State{}, false
}

func stoppedMessage(p *corev1.Pod, e ending) string {
	what := "The pod was deleted."
	switch e.cause {
	case causeCluster:
		what = fmt.Sprintf("The cluster stopped the pod: %s.", e.why)
	case causeSignal:
		what = fmt.Sprintf("A signal ended the %s.", title(p, e.container))
	case causeTimeLimit:
		what = "The deadline of the pod stopped it."
	}
	return what + " Its tests may not all have run, although they exited with 0."
}

// killedForMemory is a sentence: in which container that exited with 0 something was killed for its memory. It is "" if there is none.
func killedForMemory(pods []corev1.Pod) string {
	for _, p := range slices.SortedFunc(slices.Values(pods), byCreation) {
		if e := endingOf(&p); succeeded(&p) && e.cause == causeMemory {
			return outOfMemory(&p, e.container, "A process in the")
		}
	}
	return ""
}
