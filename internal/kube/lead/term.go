package lead

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Term manages the controllers of one term. It removes their handlers from the shared informers, which controller-runtime never does.
type Term struct {
	ctrl.Manager
	cache     *termCache
	runnables []manager.Runnable
}

// NewTerm returns a Term without controllers.
func NewTerm(mgr ctrl.Manager) *Term {
	return &Term{Manager: mgr, cache: &termCache{Cache: mgr.GetCache()}}
}

// Add adds what Run runs.
func (t *Term) Add(r manager.Runnable) error {
	t.runnables = append(t.runnables, r)
	return nil
}

// GetCache returns the cache of the process.
func (t *Term) GetCache() cache.Cache { return t.cache }

// GetControllerOptions allow the controllers of each term the same names.
func (t *Term) GetControllerOptions() config.Controller {
	options := t.Manager.GetControllerOptions()
	options.SkipNameValidation = new(true)
	return options
}

// Run returns when everything has stopped. A controller that is stopped while it starts fails, which is no error.
func (t *Term) Run(ctx context.Context) error {
	all, running := errgroup.WithContext(ctx)
	for _, r := range t.runnables {
		all.Go(func() error { return r.Start(running) })
	}
	err := all.Wait()
	if ctx.Err() != nil {
		err = nil
	}
	err = errors.Join(err, t.cache.end())
	if problem := clearQueues(); problem != nil {
		log.FromContext(ctx).Info("the metrics of the queues keep what waited in this term", "problem", problem.Error())
	}
	return err
}

type termCache struct {
	cache.Cache
	mu       sync.Mutex
	ended    bool
	handlers []func() error // that remove them
}

func (c *termCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		return nil, err
	}
	return termInformer{informer, c}, nil
}

// end removes the handlers, and those that come later at once.
func (c *termCache) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	var errs []error
	for _, remove := range c.handlers {
		errs = append(errs, remove())
	}
	c.handlers = nil
	return errors.Join(errs...)
}

type termInformer struct {
	cache.Informer
	term *termCache
}

// AddEventHandlerWithOptions is the method by which controllers add handlers.
func (i termInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.term.mu.Lock()
	defer i.term.mu.Unlock()
	if i.term.ended {
		return nil, errTermOver
	}
	registration, err := i.Informer.AddEventHandlerWithOptions(handler, options)
	if err == nil {
		i.term.handlers = append(i.term.handlers, func() error { return i.RemoveEventHandler(registration) })
	}
	return registration, err
}
