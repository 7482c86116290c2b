package outcome

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Completing reports whether all tests of a Job have passed, and its pods are stopping: Kubernetes writes that before completion.
func Completing(j *batchv1.Job) bool {
	return j.DeletionTimestamp == nil && end(j) == nil && job.StopRequested(j).IsZero() &&
		condition(j, batchv1.JobFailureTarget) == nil && condition(j, batchv1.JobSuccessCriteriaMet) != nil
}

// StoppingSince is when pods began to stop: by request, deletion, or certain failure or success. Zero: they run, or the Job has ended.
func StoppingSince(j *batchv1.Job) time.Time {
	if j.DeletionTimestamp != nil {
		return j.DeletionTimestamp.Time
	}
	if end(j) != nil {
		return time.Time{}
	}
	if at := job.StopRequested(j); !at.IsZero() {
		return at
	}
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if c := condition(j, t); c != nil {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Lost returns a sentence if all remaining pods should have stopped so long ago, or "": their node is gone, or its kubelet hangs.
func Lost(pods []corev1.Pod, now time.Time, after time.Duration) string {
	left := slices.DeleteFunc(slices.SortedFunc(slices.Values(pods), byCreation), ended)
	late := func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time) >= after
	}
	if len(left) == 0 || slices.ContainsFunc(left, func(p corev1.Pod) bool { return !late(p) }) {
		return ""
	}
	p := left[0]
	return fmt.Sprintf("The pod %s was deleted, and its node %q did not confirm within %s that it has stopped: the node is unreachable, or "+
		"its kubelet hangs. "+
		"The pod may still be running. Check the node; if it is gone for good: kubectl delete pod -n %s %s --force",
		p.Name, plaintext.Line(p.Spec.NodeName, maxName), plaintext.Duration(after), p.Namespace, p.Name)
}

func suspended(j *batchv1.Job) bool { return ptr.Deref(j.Spec.Suspend, false) }

func suspendedMessage(j *batchv1.Job) string {
	if queue := j.Labels[job.QueueLabel]; queue != "" {
		return fmt.Sprintf("Waiting in the queue %q of Kueue, which starts the Job when it has room: kubectl describe job -n %s %s",
			plaintext.Line(queue, maxName), j.Namespace, j.Name)
	}
	return fmt.Sprintf("The Job is suspended, and starts when its owner, such as a queueing system, resumes it: kubectl describe job -n %s %s",
		j.Namespace, j.Name)
}
