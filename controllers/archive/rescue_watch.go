package archive

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Only the metadata of the pods is needed, and nothing of it is kept.
func (r *Rescue) watchPods(ctx context.Context, namespace string) {
	pods := r.listWatch(namespace, func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		return list
	}, metav1.ListOptions{LabelSelector: v1alpha1.LabelSuite, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"})
	seen := func(obj any) { r.podSeen(ctx, obj.(*metav1.PartialObjectMetadata)) }
	watched := passing{
		changed: seen,
		listed: func(all []any) {
			uids := map[types.UID]bool{}
			for _, obj := range all {
				uids[obj.(*metav1.PartialObjectMetadata).UID] = true
				seen(obj)
			}
			r.forget(namespace, func(uid types.UID) bool { return !uids[uid] })
		},
		deleted: func(obj any) {
			gone := obj.(*metav1.PartialObjectMetadata).UID
			r.forget(namespace, func(uid types.UID) bool { return uid == gone })
		},
	}
	toolscache.NewReflectorWithOptions(pods, &metav1.PartialObjectMetadata{}, watched, toolscache.ReflectorOptions{Name: "rescue-pods"}).RunWithContext(ctx)
}

// A kubelet evicts pods if the node lacks disk or memory, or the pod has used too much disk. Earlier events are of no use.
func (r *Rescue) watchEvictions(ctx context.Context, namespace string) {
	events := r.listWatch(namespace, func() client.ObjectList { return &eventsv1.EventList{} },
		metav1.ListOptions{FieldSelector: "reason=Evicted,regarding.kind=Pod"})
	watched := passing{
		changed: func(obj any) { r.evicted(ctx, obj.(*eventsv1.Event)) },
		listed:  func([]any) {},
		deleted: func(any) {},
	}
	toolscache.NewReflectorWithOptions(events, &eventsv1.Event{}, watched, toolscache.ReflectorOptions{Name: "rescue-evictions"}).RunWithContext(ctx)
}

func (r *Rescue) listWatch(namespace string, newList func() client.ObjectList, selectors metav1.ListOptions) *toolscache.ListWatch {
	with := func(o metav1.ListOptions) *client.ListOptions {
		o.LabelSelector, o.FieldSelector = selectors.LabelSelector, selectors.FieldSelector
		return &client.ListOptions{Namespace: namespace, Raw: &o}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := newList()
			return list, r.Watch.List(ctx, list, with(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.Watch.Watch(ctx, newList(), with(o))
		},
	}
}

type passing struct {
	changed func(obj any)
	listed  func(all []any)
	deleted func(obj any)
}

func (p passing) Add(obj any) error                 { p.changed(obj); return nil }
func (p passing) Update(obj any) error              { p.changed(obj); return nil }
func (p passing) Delete(obj any) error              { p.deleted(obj); return nil }
func (p passing) Replace(all []any, _ string) error { p.listed(all); return nil }
func (p passing) Resync() error                     { return nil }
