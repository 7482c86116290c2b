package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

const (
	// tookTooLong starts what is said of a run that its timeout ends.
	tookTooLong = "The run took longer than its timeout"

	// podsGone ends what is said of a failed run of which only the Job is left.
	podsGone = "Its pods are gone, and their logs with them; a restartPolicy of Never keeps them."

	repeat = "Notify again, or create another Suite, to repeat the run."
)

// failed tells a run whose tests failed from one that ran out of time, and from one that was cut short
// through no fault of the tests.
func failed(j *batchv1.Job, end *batchv1.JobCondition, pods []corev1.Pod) metav1.Condition {
	if end.Reason == batchv1.JobReasonDeadlineExceeded {
		return v1alpha1.TimedOut(tookTooLong + timeout(j) + " and was stopped.")
	}
	if p := telling(pods); p != nil {
		return podFailed(j, p)
	}
	return failedWithoutPod(j, end)
}

// timeout that the Job was given, as the end of a phrase.
func timeout(j *batchv1.Job) string {
	if seconds := j.Spec.ActiveDeadlineSeconds; seconds != nil {
		return " of " + duration(time.Duration(*seconds)*time.Second)
	}
	return ""
}

// failedWithoutPod is left with the Job's own words. Containers that restart in place end with their
// pod deleted; so does a pod that somebody deleted, of which nobody can say whether its tests failed.
func failedWithoutPod(j *batchv1.Job, end *batchv1.JobCondition) metav1.Condition {
	words := strings.TrimRight(plaintext.Line(cmp.Or(end.Message, end.Reason), maxQuote), ".")
	if end.Reason == batchv1.JobReasonPodFailurePolicy || j.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return v1alpha1.Failed(words + ". " + podsGone)
	}
	return v1alpha1.Error("The pod was deleted before its end was seen, by hand or with its node. " + repeat)
}

// telling is the pod that tells why the Job failed: the last one that failed by itself. Others were
// deleted because the Job had failed.
func telling(pods []corev1.Pod) *corev1.Pod {
	candidates := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase != corev1.PodFailed && failedContainer(&p) == nil
	})
	if len(candidates) == 0 {
		return nil
	}
	last := slices.MaxFunc(candidates, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(standing(&a), standing(&b)), finishedAt(&a).Compare(finishedAt(&b)), byCreation(a, b))
	})
	return &last
}

func standing(p *corev1.Pod) int {
	if p.DeletionTimestamp == nil {
		return 1
	}
	return 0
}

func finishedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := termination(p, cs); t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

func podFailed(j *batchv1.Job, p *corev1.Pod) metav1.Condition {
	cs := failedContainer(p)
	switch disruption := disruption(p); {
	case p.Status.Reason == batchv1.JobReasonDeadlineExceeded:
		return v1alpha1.TimedOut("The pod took longer than the activeDeadlineSeconds of its own in the jobTemplate, and was stopped.")
	case exceededStorage(p):
		return v1alpha1.Failed(fmt.Sprintf("The pod was stopped because it needed more disk than its limit. %s Raise that limit in the jobTemplate of the Trigger.", plaintext.Line(p.Status.Message, maxQuote)))
	case disruption != "":
		return v1alpha1.Error(fmt.Sprintf("The cluster stopped the pod before its tests ended: %s. %s", disruption, repeat))
	case p.DeletionTimestamp != nil && (cs == nil || endedByDeletion(p, termination(p, *cs))):
		return v1alpha1.Error("The pod was deleted before its tests ended. " + repeat)
	case cs == nil:
		return v1alpha1.Error(fmt.Sprintf("The pod failed, and does not say why: kubectl describe pod -n %s %s", p.Namespace, p.Name))
	default:
		return containerFailed(j, p, cs.Name, termination(p, *cs))
	}
}

// disruption says who stopped a pod that did not fail by itself: the cluster took the node or its room
// away, or the node refused the pod. The pod's own words are the more exact ones.
func disruption(p *corev1.Pod) string {
	c := cmp.Or(disrupted(p), &corev1.PodCondition{})
	reason := plaintext.Line(cmp.Or(p.Status.Reason, c.Reason), maxName)
	message := strings.TrimRight(plaintext.Line(cmp.Or(p.Status.Message, c.Message), maxQuote), ". ")
	if message == "" {
		return reason
	}
	return fmt.Sprintf("%s (%s)", message, reason)
}

func disrupted(p *corev1.Pod) *corev1.PodCondition {
	for i, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// exceededStorage tells a pod that was evicted for its own use of disk, beyond a limit of its own,
// from one that had to make room for others: only the latter is the target of a disruption.
func exceededStorage(p *corev1.Pod) bool {
	return p.Status.Reason == "Evicted" && disrupted(p) == nil && strings.Contains(p.Status.Message, "exceed")
}
