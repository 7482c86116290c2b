package job

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const repeat = "Notify again, or create another Suite, to repeat the run."

// failed tells a run whose tests failed from one that ran out of time, and from one that was cut short
// through no fault of the tests.
func failed(j *batchv1.Job, reason, message string, pods []corev1.Pod) metav1.Condition {
	if reason == batchv1.JobReasonDeadlineExceeded {
		return timedOut(j, pods)
	}
	if p := telling(pods); p != nil {
		return podFailed(j, p)
	}
	return failedWithoutPod(j, reason, message)
}

func timedOut(j *batchv1.Job, pods []corev1.Pod) metav1.Condition {
	limit := ""
	if s := j.Spec.ActiveDeadlineSeconds; s != nil {
		limit = " of " + duration(time.Duration(*s)*time.Second)
	}
	why := ""
	for i := range pods {
		if b := blocked(&pods[i]); b != "" {
			why = " " + b
		}
	}
	return v1alpha1.TimedOut(fmt.Sprintf("The run took longer than its timeout%s and was stopped.%s", limit, why))
}

// failedWithoutPod is left with the Job's own words. Containers that restart in place end with their
// pod deleted; so does a pod that somebody deleted, of which nobody can say whether its tests failed.
func failedWithoutPod(j *batchv1.Job, reason, message string) metav1.Condition {
	words := clean(orElse(message, reason), maxQuote)
	if reason == batchv1.JobReasonPodFailurePolicy || j.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return v1alpha1.Failed(fmt.Sprintf("The Job failed, and its pods are gone: %s", words))
	}
	return v1alpha1.Error(fmt.Sprintf("The pod was deleted before its end was seen, by hand or with its node (%s). %s", words, repeat))
}

// telling is the pod that tells why the Job failed: the last one that failed by itself. Others were
// deleted because the Job had failed.
func telling(pods []corev1.Pod) *corev1.Pod {
	candidates := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodFailed && failedContainer(&p) == nil
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
	for _, cs := range p.Status.ContainerStatuses {
		if t := cs.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

func podFailed(j *batchv1.Job, p *corev1.Pod) metav1.Condition {
	cs := failedContainer(p)
	switch {
	case p.Status.Reason == batchv1.JobReasonDeadlineExceeded:
		return v1alpha1.TimedOut("The pod took longer than the activeDeadlineSeconds of its template and was stopped.")
	case disruption(p) != "":
		return v1alpha1.Error(fmt.Sprintf("The pod was stopped through no fault of the tests: %s. %s", disruption(p), repeat))
	case cs == nil:
		return v1alpha1.Error(fmt.Sprintf("The pod failed, and does not say why: kubectl describe pod -n %s %s", p.Namespace, p.Name))
	case deletedBefore(p, termination(p, *cs)):
		return v1alpha1.Error("The pod was deleted while it ran. " + repeat)
	default:
		return containerFailed(j, p, cs.Name, termination(p, *cs))
	}
}

// disruption says who stopped a pod that did not fail by itself: the cluster took the node or its room
// away, or the node refused the pod.
func disruption(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return sayReason(c.Reason, orElse(p.Status.Message, c.Message))
		}
	}
	if p.Status.Reason == "" {
		return ""
	}
	return sayReason(p.Status.Reason, p.Status.Message)
}
