package trigger

import (
	"context"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// compilePause follows each expression that is compiled before a notification needs it, so that a processor is left for other things.
const compilePause = 10 * time.Millisecond

// WatchTriggers keeps the index of every replica up to date. The function reports whether it holds all Triggers of the start.
func WatchTriggers(ctx context.Context, c cache.Cache, matched *match.Index) (synced func() bool, err error) {
	informer, err := c.GetInformer(ctx, &v1alpha1.Trigger{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	wake := make(chan struct{}, 1)
	set := func(obj any) {
		matched.Set(obj.(*v1alpha1.Trigger))
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) { forget(matched, obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Triggers: %w", err)
	}
	go compile(ctx, matched, wake)
	return registration.HasSynced, nil
}

func compile(ctx context.Context, matched *match.Index, wake <-chan struct{}) {
	for {
		pause := wake
		var next <-chan time.Time
		if matched.CompileNext() {
			pause, next = nil, time.After(compilePause)
		}
		select {
		case <-ctx.Done():
			return
		case <-pause:
		case <-next:
		}
	}
}

func forget(matched *match.Index, obj any) {
	if t, ok := index.Object[*v1alpha1.Trigger](obj); ok {
		matched.Delete(t.Namespace, t.Name)
	}
}
