package deployed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/kube/bounded"
)

const (
	podsRead = 100 // of a workload: all have the same images, or the digest is not known

	largestPage   = 40       // of ordinary objects
	ordinaryBytes = 64 << 10 // of a workload or pod, in memory: most have less
)

// podsOf keeps of each pod what shows its images, and reports whether these are all.
func podsOf(
	ctx context.Context, from client.Reader, namespace string, selector labels.Selector,
) (all []corev1.Pod, complete bool, err error) {
	options := &client.ListOptions{Namespace: namespace, LabelSelector: selector, Limit: firstPage}
	for len(all) < podsRead {
		page := &corev1.PodList{}
		if err := from.List(ctx, page, options); err != nil {
			return nil, false, err
		}
		for i := range page.Items {
			all = append(all, imagesOf(&page.Items[i]))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, true, nil
		}
		options.Limit = min(nextPage(options.Limit, page), podsRead-int64(len(all)))
	}
	return all, false, nil
}

// nextPage doubles a page whose objects were of ordinary size.
func nextPage(limit int64, page any) int64 {
	if bounded.Size(page) > limit*ordinaryBytes {
		return firstPage
	}
	return min(2*limit, largestPage)
}

func imagesOf(full *corev1.Pod) corev1.Pod {
	pod := corev1.Pod{Status: corev1.PodStatus{Phase: full.Status.Phase}}
	pod.DeletionTimestamp = full.DeletionTimestamp
	for _, c := range full.Status.ContainerStatuses {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, ImageID: c.ImageID})
	}
	return pod
}
