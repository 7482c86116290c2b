package fairness

import (
	"sync"

	"k8s.io/utils/lru"
)

// Cache keeps values by namespace, so that many of one namespace displace only each other.
type Cache[K comparable, V any] struct {
	size, perNamespace int

	mu         sync.Mutex
	count      int
	namespaces map[string]*lru.Cache // V by K; none is empty
}

// NewCache returns a Cache of so many values, in all and of each namespace.
func NewCache[K comparable, V any](size, perNamespace int) *Cache[K, V] {
	return &Cache[K, V]{size: size, perNamespace: perNamespace, namespaces: map[string]*lru.Cache{}}
}

// Get returns a value, and whether there is one.
func (c *Cache[K, V]) Get(namespace string, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(namespace, key)
}

// Add keeps a value instead of an earlier one.
func (c *Cache[K, V]) Add(namespace string, key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(namespace, key, value)
}

// GetOrAdd returns the value that is kept, or else keeps a new one.
func (c *Cache[K, V]) GetOrAdd(namespace string, key K, fresh func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok := c.get(namespace, key); ok {
		return value
	}
	value := fresh()
	c.add(namespace, key, value)
	return value
}

// Len is how many values are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

func (c *Cache[K, V]) get(namespace string, key K) (value V, ok bool) {
	values := c.namespaces[namespace]
	if values == nil {
		return value, false
	}
	found, ok := values.Get(key)
	if !ok {
		return value, false
	}
	return found.(V), true
}

func (c *Cache[K, V]) add(namespace string, key K, value V) {
	values := c.namespaces[namespace]
	if values == nil {
		values = lru.New(c.perNamespace)
		c.namespaces[namespace] = values
	}
	before := values.Len()
	values.Add(key, value)
	c.count += values.Len() - before
	for c.count > c.size {
		c.evict()
	}
}

// evict forgets the value that the namespace with the most has not used for longest.
func (c *Cache[K, V]) evict() {
	var largest string
	most := 0
	for namespace, values := range c.namespaces {
		if n := values.Len(); n > most {
			largest, most = namespace, n
		}
	}
	c.namespaces[largest].RemoveOldest()
	c.count--
	if most == 1 {
		delete(c.namespaces, largest)
	}
}
