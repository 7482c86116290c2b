package outcome

import (
	"fmt"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// injected returns the container beside the tests that is not in the jobTemplate, or "": the first that has not ended, or else that exists.
func injected(p *corev1.Pod) (name string) {
	for _, cs := range p.Status.ContainerStatuses {
		switch {
		case job.InTemplate(&p.Spec, cs.Name):
		case cs.State.Terminated == nil:
			return cs.Name
		case name == "":
			name = cs.Name
		}
	}
	return name
}

// failedInjected returns the first injected container or init container that failed, with its title, or "".
func failedInjected(p *corev1.Pod) string {
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := cs.State.Terminated; t != nil && t.ExitCode != 0 && !job.InTemplate(&p.Spec, cs.Name) && !isSidecar(p, cs.Name) {
			return title(p, cs.Name)
		}
	}
	return ""
}

// heldOpen returns the injected container that alone keeps a pod running whose tests have ended, or "".
func heldOpen(p *corev1.Pod) string {
	name := injected(p)
	holds := func(cs corev1.ContainerStatus) bool {
		return cs.Name == name && (cs.State.Terminated == nil || restarts(p, cs))
	}
	if name == "" || ended(*p) || p.DeletionTimestamp != nil || testsEnded(p).IsZero() ||
		!slices.ContainsFunc(p.Status.ContainerStatuses, holds) {
		return ""
	}
	return name
}

// anyHeldOpen returns such a container of any of the pods, or "".
func anyHeldOpen(pods []corev1.Pod) string {
	for i := range pods {
		if name := heldOpen(&pods[i]); name != "" {
			return name
		}
	}
	return ""
}

// EndDeadline returns the activeDeadlineSeconds with which a pod ends that is held open, or nil for others. It lies just after the end of
// the tests, so that endingOf knows that they had ended.
func EndDeadline(p *corev1.Pod) *int64 {
	if heldOpen(p) == "" || p.Status.StartTime == nil {
		return nil
	}
	seconds := int64(math.Ceil(testsEnded(p).Sub(p.Status.StartTime.Time).Seconds())) + 1
	return new(max(1, min(seconds, ptr.Deref(p.Spec.ActiveDeadlineSeconds, seconds))))
}

// BackoffToEnd returns the backoffLimit with which a Job ends, instead of repeating pods that are held open: their deadline counts as a
// failure. It is nil if the tests of one failed, or if other work is left, so that the limits of the Job have to decide.
func BackoffToEnd(j *batchv1.Job, pods []corev1.Pod) *int32 {
	held := int32(0)
	for i := range pods {
		switch {
		case heldOpen(&pods[i]) == "":
		case failedContainer(&pods[i]) != nil:
			return nil
		default:
			held++
		}
	}
	limit := j.Status.Failed + held - 1
	if held == 0 || held != workLeft(j) || j.Spec.BackoffLimitPerIndex != nil || j.Spec.BackoffLimit != nil && *j.Spec.BackoffLimit <= limit {
		return nil
	}
	return &limit
}

// workLeft is how many pods a Job still needs that succeed, or -1 if nobody knows.
func workLeft(j *batchv1.Job) int32 {
	if isQueue(&j.Spec) {
		return -1
	}
	return ptr.Deref(j.Spec.Completions, 1) - j.Status.Succeeded
}

// onlyInjectedFailed reports whether a Job failed only because of containers that are not in its template: in the last pod of each part of
// the work, all others exited with 0.
func onlyInjectedFailed(j *batchv1.Job, end *batchv1.JobCondition, pods []corev1.Pod) bool {
	if !slices.Contains([]string{batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonFailedIndexes, batchv1.JobReasonPodFailurePolicy},
		end.Reason) {
		return false
	}
	if all := ptr.Deref(j.Spec.Completions, 1); all > 1 && !job.IsIndexed(&j.Spec) {
		return count(pods, succeeded) >= int(all) && count(pods, hasFailed) == 0 && count(pods, endedBadly) > 0
	}
	last, problem := lastPods(j, pods)
	return problem == "" && count(last, succeeded) == len(last) && count(last, endedBadly) > 0
}

// endedBadly reports whether a pod failed in which all containers of the jobTemplate exited with 0.
func endedBadly(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && succeeded(p) }

// endedBadlyIn returns the first such container, or "".
func endedBadlyIn(pods []corev1.Pod) string {
	for i := range pods {
		if endedBadly(&pods[i]) {
			return plaintext.Line(injected(&pods[i]), maxName)
		}
	}
	return ""
}

const injectedEnd = "The container %q, which is not in the jobTemplate, failed, or still ran after the tests and was stopped."

func ignored(pods []corev1.Pod) string {
	return fmt.Sprintf(" "+injectedEnd+" It does not count.", endedBadlyIn(pods))
}

// gaveUp is for a Job that ended for such a container before all of its work was done.
func gaveUp(container string) string {
	return fmt.Sprintf(injectedEnd+
		" So the Job gave up before all its work was done. Inject it as a native sidecar, or leave it out of these pods.", container)
}
