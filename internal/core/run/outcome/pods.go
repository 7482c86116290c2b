package outcome

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodsOf overwrites the slice with the pods that this Job created: pods of an earlier Job of the name may still be stopping.
func PodsOf(j *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
}

// count returns how many pods there are of a kind.
func count(pods []corev1.Pod, kind func(*corev1.Pod) bool) (n int) {
	for i := range pods {
		if kind(&pods[i]) {
			n++
		}
	}
	return n
}

// AnyRunning reports whether any of the pods has not ended, and may still touch the environment.
func AnyRunning(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !ended(p) })
}

// confirmWithin is how long the kubelets of ended pods may take to report how containers ended: by default, they write a status within
// ten seconds. A node that is gone never does.
const confirmWithin = 30 * time.Second

// Unconfirmed reports whether a Job has just ended, and a container of a pod that has ended is still reported as running: a kubelet may
// write the phase of a pod before the states of its containers (kubernetes/kubernetes#98718), and so before what they reported. The
// containers of evicted pods are removed at once, so waiting for their states would lose their logs.
func Unconfirmed(j *batchv1.Job, pods []corev1.Pod, now time.Time) bool {
	last := end(j)
	return last != nil && now.Sub(last.LastTransitionTime.Time).Abs() < confirmWithin && slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return ended(p) && p.DeletionTimestamp == nil && p.Status.Reason != evicted && slices.ContainsFunc(
			slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses),
			func(cs corev1.ContainerStatus) bool { return cs.State.Running != nil })
	})
}

// PodToDebug returns the pod of a run that failed last and its container that failed first, or else the newest pod; nil: there is none.
func PodToDebug(pods []corev1.Pod) (p *corev1.Pod, container string) {
	p = failedPod(pods)
	switch {
	case p == nil && len(pods) == 0:
		return nil, ""
	case p == nil:
		p = new(slices.MaxFunc(pods, byCreation))
	}
	if cs := failedContainer(p); cs != nil {
		container = cs.Name
	}
	return p, container
}
