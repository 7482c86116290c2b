package endpoint

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// WatchSuites has the cache tell waiting requests of news, and count the Suites of each team. The cache
// stores an object before it tells of it, so that who was woken reads what woke it. The returned function
// reports whether all Suites there were at the start are counted.
func (a *API) WatchSuites(ctx context.Context, informers cache.Informers) (synced func() bool, err error) {
	informer, err := informers.GetInformer(ctx, &v1alpha1.Suite{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Suites: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.suiteChanged(nil, suiteOf(obj)) },
		UpdateFunc: func(was, is any) { a.suiteChanged(suiteOf(was), suiteOf(is)) },
		DeleteFunc: func(obj any) { a.suiteChanged(suiteOf(obj), nil) },
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

// suiteChanged counts the Suite and wakes whoever waits for it. A new Suite has no before, a deleted one no
// after. That a message changed, as it does for each place in the queue, is no news.
func (a *API) suiteChanged(before, after *v1alpha1.Suite) {
	a.suites.observe(before, after)
	s := cmp.Or(after, before)
	if s == nil || (before != nil && after != nil && before.State() == after.State() && before.UID == after.UID) {
		return
	}
	a.hub.announce(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
}

// Drain answers the requests that wait, and lets none wait any more: the server is about to stop.
func (a *API) Drain() { a.hub.close() }
