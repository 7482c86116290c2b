package archive

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/reflector"
)

// Only the metadata of the pods is needed, and nothing of it is kept.
func (r *Rescue) watchPods(ctx context.Context, namespace string) {
	seen := func(obj any) { r.podSeen(ctx, obj.(*metav1.PartialObjectMetadata)) }
	reflector.Run(ctx, r.Watch, reflector.Objects{
		Name: "rescue-pods", Namespace: namespace, Object: &metav1.PartialObjectMetadata{},
		List: func() client.ObjectList {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
			return list
		},
		Selectors: metav1.ListOptions{LabelSelector: v1alpha1.LabelSuite, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"},
	}, reflector.Handler{
		Changed: seen,
		Listed: func(all []any) {
			uids := map[types.UID]bool{}
			for _, obj := range all {
				uids[obj.(*metav1.PartialObjectMetadata).UID] = true
				seen(obj)
			}
			r.forget(namespace, func(uid types.UID) bool { return !uids[uid] })
		},
		Deleted: func(obj any) {
			gone := obj.(*metav1.PartialObjectMetadata).UID
			r.forget(namespace, func(uid types.UID) bool { return uid == gone })
		},
	})
}
