package suite

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// namespaceReads keep what was read of a namespace for a short time, so that a thousand runs there need one read.
type namespaceReads[T any] struct {
	read     func(ctx context.Context, namespace string) T
	every    time.Duration
	timeout  time.Duration // of a read
	clock    clock.PassiveClock
	requests singleflight.Group // by namespace

	mu          sync.Mutex
	byNamespace map[string]namespaceRead[T]
}

type namespaceRead[T any] struct {
	at    time.Time
	value T
}

// get reads a namespace, unless that was done a short time ago.
func (r *namespaceReads[T]) get(ctx context.Context, namespace string) T {
	if known, fresh := r.cached(namespace); fresh {
		return known.value
	}
	value, _, _ := r.requests.Do(namespace, func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		value := r.read(ctx, namespace)
		r.keep(namespace, value)
		return value, nil
	})
	return value.(T)
}

func (r *namespaceReads[T]) cached(namespace string) (known namespaceRead[T], fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	maps.DeleteFunc(r.byNamespace, func(_ string, then namespaceRead[T]) bool { return now.Sub(then.at) >= r.every })
	known, fresh = r.byNamespace[namespace]
	return known, fresh
}

func (r *namespaceReads[T]) keep(namespace string, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace == nil {
		r.byNamespace = map[string]namespaceRead[T]{}
	}
	r.byNamespace[namespace] = namespaceRead[T]{r.clock.Now(), value}
}
