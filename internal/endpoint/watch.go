package endpoint

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// WatchSuites has the cache tell waiting requests of news. The cache stores an object before it
// tells of it, so that who was woken reads what woke it.
func (a *API) WatchSuites(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.Suite{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Suites: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.suiteNews(nil, obj) },
		UpdateFunc: func(was, obj any) { a.suiteNews(was.(*v1alpha1.Suite), obj) },
		DeleteFunc: func(obj any) { a.suiteNews(nil, obj) },
	})
	if err != nil {
		return fmt.Errorf("watch Suites: %w", err)
	}
	return nil
}

// suiteNews also takes what the watch leaves of a Suite whose deletion it missed. That a message
// changed, as it does for each place in the queue, is no news.
func (a *API) suiteNews(was *v1alpha1.Suite, obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	s, ok := obj.(*v1alpha1.Suite)
	if !ok || (was != nil && was.State() == s.State() && was.UID == s.UID) {
		return
	}
	a.hub.announce(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
}

// Drain answers the requests that wait, and lets none wait any more: the server is about to stop.
func (a *API) Drain() { a.hub.close() }
