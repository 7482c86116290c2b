package workloads

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const maxDigests = 16 // the bound of the status

// PodsToRead returns the selector of an object's pods if their digests are needed: its rollout is complete, which the status does not say.
// Digests are read once for each rollout.
func PodsToRead(e *v1alpha1.Environment, f Found) (pods labels.Selector, needed bool) {
	r := rolloutOf(f.Object)
	known := recorded(e, f.Object.GetUID())
	if !r.ready || known != nil && known.Ready && known.Revision == r.revision {
		return nil, false
	}
	if _, problem := f.read(); problem != "" {
		return nil, false // the status will not say that it is complete
	}
	return PodsOf(f.Object)
}

// PodsOf returns the selector of an object's pods, if it has one.
func PodsOf(o *unstructured.Unstructured) (pods labels.Selector, found bool) {
	if len(containersOf(o)) == 0 {
		return nil, false
	}
	written, found, err := unstructured.NestedMap(o.Object, "spec", "selector")
	if err != nil || !found {
		return nil, false
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written, selector); err != nil {
		return nil, false
	}
	pods, err = metav1.LabelSelectorAsSelector(selector)
	return pods, err == nil && !pods.Empty()
}

// Digests returns the digest of each container that all pods agree on, except those that have ended. It is never nil.
func Digests(pods []corev1.Pod) []v1alpha1.ImageDigest {
	byContainer := map[string]string{}
	for i := range pods {
		if phase := pods[i].Status.Phase; pods[i].DeletionTimestamp != nil || phase == corev1.PodFailed || phase == corev1.PodSucceeded {
			continue // such as one that was evicted
		}
		for _, c := range pods[i].Status.ContainerStatuses {
			_, digest, found := strings.Cut(c.ImageID, "@")
			if digest = strings.TrimSpace(digest); !found {
				digest = c.ImageID
			}
			if other, known := byContainer[c.Name]; known && other != digest {
				digest = ""
			}
			byContainer[c.Name] = digest
		}
	}
	all := []v1alpha1.ImageDigest{}
	for container, digest := range byContainer {
		if digest != "" && len(digest) <= 256 {
			all = append(all, v1alpha1.ImageDigest{Container: container, Digest: digest})
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.ImageDigest) int { return cmp.Compare(a.Container, b.Container) })
	return all[:min(len(all), maxDigests)]
}
