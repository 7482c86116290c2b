package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Get reads an object; nil where it does not exist.
func Get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Reader, namespace, name string, options ...client.GetOption) (P, error) {
	obj := P(new(T))
	err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj, options...)
	if err != nil {
		return nil, apierror.IgnoreNotFound(err)
	}
	return obj, nil
}

// CacheTimeout bounds a read that waits for the manager's writes: the cache never has the last write to a Job that lost its label.
const CacheTimeout = 5 * time.Second

// Shared reads an object that the cache keeps: never change it.
func Shared[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Reader, namespace, name string) (P, error) {
	return Get[T, P](ctx, c, namespace, name, client.UnsafeDisableDeepCopy)
}

// Reread reads what the API server has of an object now; nil where it was deleted, or replaced.
func Reread[T any, P interface {
	*T
	client.Object
}](ctx context.Context, live client.Reader, known P) (P, error) {
	obj, err := Get[T, P](ctx, live, known.GetNamespace(), known.GetName())
	if err != nil || obj == nil || obj.GetUID() != known.GetUID() {
		return nil, err
	}
	return obj, nil
}
