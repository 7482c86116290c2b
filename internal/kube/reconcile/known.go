package reconcile

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Known reads what the cache has, and waits for no write. It is for handlers of events, and for reads that need no write of this
// manager. With 10,000 Teams, handlers that waited for the writes of all workers had not handled the first list after two minutes, and
// then a manager ends.
func Known(c client.Reader) client.Reader { return known{c} }

type known struct{ client.Reader }

func (k known) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return k.Reader.Get(ctx, key, obj, append(slices.Clip(options), client.DisableReadYourWritesConsistency)...)
}

func (k known) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return k.Reader.List(ctx, list, append(slices.Clip(options), client.DisableReadYourWritesConsistency)...)
}
