package job

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// StopDeadlineSeconds is the activeDeadlineSeconds of a pod that has to stop now. The kubelet then gives it its
// grace period, and keeps its logs.
const StopDeadlineSeconds = 1

// TimeLimit is the longest that the tests of a Job may run; 0 where the Job does not say. It is the deadline of
// the Job in a stripped one, and in those of earlier versions of Postflight.
func TimeLimit(j *batchv1.Job) time.Duration {
	limit, err := time.ParseDuration(j.Annotations[v1alpha1.AnnotationTimeout])
	if err != nil {
		return time.Duration(ptr.Deref(j.Spec.ActiveDeadlineSeconds, 0)) * time.Second
	}
	return limit
}

// StopRequested is when the manager began to stop the pods of a Job; zero where it did not.
func StopRequested(j *batchv1.Job) time.Time {
	at, err := time.Parse(time.RFC3339, j.Annotations[v1alpha1.AnnotationStopRequested])
	if err != nil {
		return time.Time{}
	}
	return at
}

// GracePeriod is how long the pods of a Job may take to stop.
func GracePeriod(j *batchv1.Job) time.Duration {
	return time.Duration(ptr.Deref(j.Spec.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
}

// Completing reports whether the tests of a Job passed, and nothing but the end of its pods is left. Kubernetes says so in a
// write of its own before it completes any Job.
func Completing(j *batchv1.Job) bool {
	return j.DeletionTimestamp == nil && end(j) == nil && StopRequested(j).IsZero() &&
		condition(j, batchv1.JobFailureTarget) == nil && condition(j, batchv1.JobSuccessCriteriaMet) != nil
}

// StoppingSince is when the pods of a Job began to stop: when the manager or Kubernetes requested it, when the
// deletion of the Job began, or when it was certain to fail or to succeed. Zero where the pods go on, or the Job
// has ended.
func StoppingSince(j *batchv1.Job) time.Time {
	if j.DeletionTimestamp != nil {
		return j.DeletionTimestamp.Time
	}
	if end(j) != nil {
		return time.Time{}
	}
	if at := StopRequested(j); !at.IsZero() {
		return at
	}
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if c := condition(j, t); c != nil {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Lost is a sentence about pods that have not stopped some time after the end of their grace period: their
// node is gone, or its kubelet hangs. It is empty where there are none, and while another pod goes on.
func Lost(pods []corev1.Pod, now time.Time, after time.Duration) string {
	left := slices.DeleteFunc(slices.SortedFunc(slices.Values(pods), byCreation), ended)
	late := func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time) >= after
	}
	if len(left) == 0 || slices.ContainsFunc(left, func(p corev1.Pod) bool { return !late(p) }) {
		return ""
	}
	p := left[0]
	return fmt.Sprintf("The pod %s was deleted, and its node %q did not confirm within %s that it has stopped: the node is unreachable, or its kubelet hangs. "+
		"The pod may still be running. Check the node; if it is gone for good: kubectl delete pod -n %s %s --force",
		p.Name, plaintext.Line(p.Spec.NodeName, maxName), plaintext.Duration(after), p.Namespace, p.Name)
}
