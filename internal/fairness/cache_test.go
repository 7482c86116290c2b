package fairness

import (
	"fmt"
	"testing"
)

// TestCache: the values of a namespace displace only each other, and the memory of all is bounded.
func TestCache(t *testing.T) {
	const size, perNamespace = 64, 8
	c := NewCache[int, string](size, perNamespace)
	quiet := []string{"a", "b", "c"}
	for _, namespace := range quiet {
		c.Add(namespace, 0, namespace)
	}
	for n := range 100 * size {
		c.Add(fmt.Sprint("loud", n%16), n, "loud")
		if c.Len() > size || c.namespaces["loud0"].Len() > perNamespace {
			t.Fatalf("%d are kept, %d of a namespace", c.Len(), c.namespaces["loud0"].Len())
		}
	}
	for _, namespace := range quiet {
		if got, ok := c.Get(namespace, 0); !ok || got != namespace {
			t.Errorf("the value of %s is displaced by others", namespace)
		}
		if got := c.GetOrAdd(namespace, 0, func() string { return "another" }); got != namespace {
			t.Errorf("the value of %s became %s", namespace, got)
		}
	}
	for n := range 2 * size { // so many namespaces that each has one
		c.GetOrAdd(fmt.Sprint("one", n), 0, func() string { return "one" })
	}
	if c.Len() != size || len(c.namespaces) != size {
		t.Errorf("%d are kept, of %d namespaces", c.Len(), len(c.namespaces))
	}
}

// TestCacheForgetsTheOldest: of a namespace with too many values, those in use remain.
func TestCacheForgetsTheOldest(t *testing.T) {
	c := NewCache[int, int](10, 2)
	c.Add("a", 1, 1)
	c.Add("a", 2, 2)
	_, _ = c.Get("a", 1)
	c.Add("a", 3, 3)
	_, used := c.Get("a", 1)
	if _, unused := c.Get("a", 2); !used || unused {
		t.Errorf("the one in use is kept: %v, the other one: %v", used, unused)
	}
}
