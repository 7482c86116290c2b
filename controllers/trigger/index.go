package trigger

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/match"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// WatchTriggers keeps the index of every replica up to date. The function reports whether it holds all Triggers of the start.
func WatchTriggers(ctx context.Context, c cache.Cache, matched *match.Index) (synced func() bool, err error) {
	informer, err := c.GetInformer(ctx, &v1alpha1.Trigger{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { matched.Set(obj.(*v1alpha1.Trigger)) },
		UpdateFunc: func(_, obj any) { matched.Set(obj.(*v1alpha1.Trigger)) },
		DeleteFunc: func(obj any) { forget(matched, obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	return registration.HasSynced, nil
}

func forget(matched *match.Index, obj any) {
	if t, ok := index.Object[*v1alpha1.Trigger](obj); ok {
		matched.Delete(t.Namespace, t.Name)
	}
}
