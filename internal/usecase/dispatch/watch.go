package dispatch

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// WatchSuites counts the Suites of each team, and then calls changed: with no before for a new Suite, and no
// after for a deleted one. The cache has the change by then. The returned function reports whether all Suites
// that existed at the start are counted.
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

// suiteOf also takes what the watch leaves of a Suite whose deletion it missed; nil for anything else.
func suiteOf(obj any) *v1alpha1.Suite {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	s, _ := obj.(*v1alpha1.Suite)
	return s
}
