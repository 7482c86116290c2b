// Package reflector follows objects without keeping them.
package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects are what is followed.
type Objects struct {
	Name      string // in logs and metrics
	Namespace string // empty: all
	List      func() client.ObjectList
	Object    any // one of them
	Selectors metav1.ListOptions
}

// Handler is told what changes. Listed comes first, and again after the connection was lost for long.
type Handler struct {
	Listed  func(all []any)
	Changed func(obj any)
	Deleted func(obj any)
}

// NewClient returns a client that can watch, with the connections of a manager.
func NewClient(mgr ctrl.Manager) (client.WithWatch, error) {
	return client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
}

// Run returns when ctx ends.
func Run(ctx context.Context, c client.WithWatch, o Objects, h Handler) {
	listOptions := func(options metav1.ListOptions) *client.ListOptions {
		options.LabelSelector, options.FieldSelector = o.Selectors.LabelSelector, o.Selectors.FieldSelector
		return &client.ListOptions{Namespace: o.Namespace, Raw: &options}
	}
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := o.List()
			return list, c.List(ctx, list, listOptions(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, o.List(), listOptions(options))
		},
	}
	toolscache.NewReflectorWithOptions(source, o.Object, store(h), toolscache.ReflectorOptions{Name: o.Name}).RunWithContext(ctx)
}

// store is a Handler in the shape of a cache that keeps nothing.
type store Handler

func (s store) Add(obj any) error                 { s.Changed(obj); return nil }
func (s store) Update(obj any) error              { s.Changed(obj); return nil }
func (s store) Delete(obj any) error              { s.Deleted(obj); return nil }
func (s store) Replace(all []any, _ string) error { s.Listed(all); return nil }
func (s store) Resync() error                     { return nil }
