package endpoint

import (
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

// suiteChanged takes nil for a Suite that was not there before, or is not any more.
func (a *API) suiteChanged(was, is *v1alpha1.Suite) {
	a.suites.observe(was, is)
	if is == nil {
		a.suiteNews(nil, was)
		return
	}
	a.suiteNews(was, is)
}

// suiteNews wakes who waits. That a message changed, as it does for each place in the queue, is no news.
func (a *API) suiteNews(was, s *v1alpha1.Suite) {
	if s == nil || (was != nil && was.State() == s.State() && was.UID == s.UID) {
		return
	}
	a.hub.announce(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
}

// Drain answers the requests that wait, and lets none wait any more: the server is about to stop.
func (a *API) Drain() { a.hub.close() }
