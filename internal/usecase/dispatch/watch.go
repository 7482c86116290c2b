package dispatch

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// WatchSuites counts the Suites of each team, then calls changed; the cache has the change by then. A new Suite has no before, a deleted
// one no after. The returned function reports whether all Suites that existed at the start are counted.
func (d *Dispatcher) WatchSuites(
	ctx context.Context, informers cache.Informers, changed func(before, after *v1alpha1.Suite),
) (synced func() bool, err error) {
	informer, err := informers.GetInformer(ctx, &v1alpha1.Suite{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Suites: %w", err)
	}
	observe := func(was, is any) {
		before, after := suiteOf(was), suiteOf(is)
		d.suites.observe(before, after)
		changed(before, after)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { observe(nil, obj) },
		UpdateFunc: observe,
		DeleteFunc: func(obj any) { observe(obj, nil) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Suites: %w", err)
	}
	return registration.HasSynced, nil
}

func suiteOf(obj any) *v1alpha1.Suite {
	s, _ := index.Object[*v1alpha1.Suite](obj)
	return s
}
