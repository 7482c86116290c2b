package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

// Outcome reads how a run goes from its Job and the Job's pods, which may be in any order, and gone.
// The run has ended when the Job says that it is complete or failed, which it says only once its pods
// have stopped: nothing of an ended run still touches the environment.
func Outcome(j *batchv1.Job, pods []corev1.Pod) metav1.Condition {
	switch end := end(j); {
	case end == nil:
		return running(j, pods)
	case end.Type == batchv1.JobComplete:
		return passed(j, pods)
	default:
		return failed(j, end, pods)
	}
}

// Remember adds to the words for how a run goes now what was known before, and is known no longer: why
// its pod could not start, or how its container last exited, where that pod is gone. It never changes
// the outcome.
func Remember(now, before metav1.Condition) metav1.Condition {
	if !forgetful(now.Message) {
		return now
	}
	for _, start := range []string{blockedPrefix, lastExitPrefix} {
		if _, known, ok := strings.Cut(before.Message, start); ok {
			now.Message += " " + start + known
			break
		}
	}
	return now
}

// forgetful tells the words that say nothing of a pod where there was one.
func forgetful(message string) bool {
	return strings.HasPrefix(message, tookTooLong) || strings.HasSuffix(message, podsGone) ||
		message == didNotPass || message == podStarting || message == podDeleted
}

// StartTime is when the Job started, nil while it has not.
func StartTime(j *batchv1.Job) *metav1.Time { return j.Status.StartTime }

// CompletionTime is when the Job ended, however it did, nil while it has not.
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

// condition of the Job that is true, else nil.
func condition(j *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &j.Status.Conditions[i]
}

// passed is said of a Job of which at least one pod succeeded. Without completions, which a template may
// ask for and who may patch Jobs can set, a Job completes at once, and nothing was tested. It quotes what the
// tests wrote to their termination log: a summary, where there is one.
func passed(j *batchv1.Job, pods []corev1.Pod) metav1.Condition {
	if j.Status.Succeeded == 0 {
		return v1alpha1.Error("The Job completed without a pod that succeeded, so nothing was tested. Check completions in the jobTemplate of the Trigger, and notify again.")
	}
	took := ""
	if from, to := StartTime(j), CompletionTime(j); from != nil && to != nil {
		took = " in " + duration(to.Sub(from.Time))
	}
	if summary := plaintext.Line(summary(pods), maxSummary); summary != "" {
		return v1alpha1.Passed(fmt.Sprintf("The tests passed%s: %s", took, summary))
	}
	return v1alpha1.Passed(fmt.Sprintf("The tests passed%s.", took))
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
