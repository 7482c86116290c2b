package trigger

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/match"
)

// WatchTriggers updates the index that notifications are matched with from the cache. It runs in every
// replica, because every replica answers notifications. The returned function reports whether the index holds
// all Triggers that existed at the start.
func WatchTriggers(ctx context.Context, c cache.Cache, index *match.Index) (synced func() bool, err error) {
	informer, err := c.GetInformer(ctx, &v1alpha1.Trigger{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { index.Set(obj.(*v1alpha1.Trigger)) },
		UpdateFunc: func(_, obj any) { index.Set(obj.(*v1alpha1.Trigger)) },
		DeleteFunc: func(obj any) { forget(index, obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	return registration.HasSynced, nil
}

// forget also accepts what the watch reports for an object whose deletion it missed.
func forget(index *match.Index, obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if t, ok := obj.(*v1alpha1.Trigger); ok {
		index.Delete(t.Namespace, t.Name)
	}
}
