package overview

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

// Triggers, Environments and Suites that these functions return are shared with the cache and must not be changed.

// triggers returns the Triggers of the namespace with what they inherit.
func (u *Pages) triggers(r *site.Request) ([]*v1alpha1.Trigger, error) {
	return index.Triggers(r.Context(), u.Cache, r.Namespace())
}

// triggersIn returns them without what they inherit.
func (u *Pages) triggersIn(ctx context.Context, namespace string) ([]*v1alpha1.Trigger, error) {
	list := &v1alpha1.TriggerList{}
	err := u.Cache.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace))
	return pointers(list.Items), err
}

func (u *Pages) environments(r *site.Request) ([]*v1alpha1.Environment, error) {
	return index.Environments(r.Context(), u.Cache, r.Namespace())
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
