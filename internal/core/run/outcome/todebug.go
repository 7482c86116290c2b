package outcome

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// PodToDebug returns the pod of a run that failed last and its container that failed first, or else the newest pod; nil: there is none.
func PodToDebug(pods []corev1.Pod) (p *corev1.Pod, container string) {
	switch p = failedPod(pods); {
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
