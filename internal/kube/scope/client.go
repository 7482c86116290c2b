package scope

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newClient reads its own writes per namespace: controller-runtime waits for any later event, which may be of another watch.
func (s Scope) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	unscoped, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	all, ok := options.Cache.Reader.(cache.Cache)
	if !ok {
		return nil, errors.New("the manager's client has no cache")
	}
	c := &scopedClient{Client: unscoped, own: map[string]client.Client{}}
	for _, namespace := range s.Namespaces {
		own, ofCache := options, *options.Cache
		ofCache.Reader = namespaceCache{all, namespace}
		own.Cache = &ofCache
		if c.own[namespace], err = client.New(config, own); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type namespaceCache struct {
	cache.Cache
	namespace string
}

func (c namespaceCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		return nil, err
	}
	return namespaceInformer{informer, c.namespace}, nil
}

type namespaceInformer struct {
	cache.Informer
	namespace string
}

func (i namespaceInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(toolscache.FilteringResourceEventHandler{
		Handler: handler,
		FilterFunc: func(obj any) bool {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			o, ok := obj.(client.Object)
			return ok && o.GetNamespace() == i.namespace
		},
	})
}

// scopedClient passes each request to the client of its namespace.
type scopedClient struct {
	client.Client                          // for objects of the cluster, and lists of all namespaces
	own           map[string]client.Client // by namespace
}

func (c *scopedClient) forNamespace(namespace string) client.Client {
	if own := c.own[namespace]; own != nil {
		return own
	}
	return c.Client
}

func (c *scopedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.forNamespace(key.Namespace).Get(ctx, key, obj, opts...)
}

func (c *scopedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	return c.forNamespace(o.ApplyOptions(opts).Namespace).List(ctx, list, opts...)
}

func (c *scopedClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.forNamespace(obj.GetNamespace()).Create(ctx, obj, opts...)
}

func (c *scopedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.forNamespace(obj.GetNamespace()).Delete(ctx, obj, opts...)
}

func (c *scopedClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.forNamespace(obj.GetNamespace()).Update(ctx, obj, opts...)
}

func (c *scopedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.forNamespace(obj.GetNamespace()).Patch(ctx, obj, patch, opts...)
}

func (c *scopedClient) Status() client.SubResourceWriter { return scopedStatus{c} }

type scopedStatus struct{ client *scopedClient }

func (s scopedStatus) Create(ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return s.client.forNamespace(obj.GetNamespace()).Status().Create(ctx, obj, sub, opts...)
}

func (s scopedStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.client.forNamespace(obj.GetNamespace()).Status().Update(ctx, obj, opts...)
}

func (s scopedStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.client.forNamespace(obj.GetNamespace()).Status().Patch(ctx, obj, patch, opts...)
}

func (s scopedStatus) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	namespace := ""
	if o, ok := obj.(interface{ GetNamespace() string }); ok {
		namespace = o.GetNamespace()
	}
	return s.client.forNamespace(namespace).Status().Apply(ctx, obj, opts...)
}
