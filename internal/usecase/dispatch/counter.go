package dispatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// reservationLasts is longer than any budget or lag of a watch. A Suite that was deleted meanwhile must not be counted forever.
const reservationLasts = 2 * time.Minute

// suiteBounds are how many Suites a team may have; 0: no limit. The defaults cost 40 MiB, and 48 MiB with the largest variables.
type suiteBounds struct{ stored, unfinished int }

func boundsOf(t *v1alpha1.Team) suiteBounds {
	return suiteBounds{stored: int(t.SuiteBound()), unfinished: int(t.UnfinishedSuiteBound())}
}

// suiteCounter counts the Suites in the watch and those that this replica is creating, so that a burst does not outrun the watch.
type suiteCounter struct {
	mu         sync.Mutex
	namespaces map[string]*suiteCount // without those that have none
}

type suiteCount struct {
	stored, unfinished int
	reserved           map[string]time.Time // by name, until when it counts
}

func newSuiteCounter() *suiteCounter { return &suiteCounter{namespaces: map[string]*suiteCount{}} }

// observe counts a change in the watch. A new Suite has no before, a deleted one no after.
func (c *suiteCounter) observe(before, after *v1alpha1.Suite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after != nil {
		count := c.countOf(after.Namespace)
		count.add(after, 1)
		delete(count.reserved, after.Name)
	}
	if before != nil {
		c.countOf(before.Namespace).add(before, -1)
		c.forget(before.Namespace)
	}
}

// reserve counts a Suite that is about to be created, once, unless the team has as many as it may.
func (c *suiteCounter) reserve(suite types.NamespacedName, b suiteBounds, now time.Time) error {
	if b == (suiteBounds{}) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.countOf(suite.Namespace)
	if _, reserved := count.reserved[suite.Name]; reserved {
		return nil
	}
	if err := count.exceeds(b, now); err != nil {
		c.forget(suite.Namespace)
		return err
	}
	count.reserved[suite.Name] = now.Add(reservationLasts)
	return nil
}

func (c *suiteCounter) release(suite types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.countOf(suite.Namespace).reserved, suite.Name)
	c.forget(suite.Namespace)
}

// full returns why the team can have no more Suites, or nil.
func (c *suiteCounter) full(namespace string, b suiteBounds, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.forget(namespace)
	return c.countOf(namespace).exceeds(b, now)
}

func (c *suiteCounter) countOf(namespace string) *suiteCount {
	count := c.namespaces[namespace]
	if count == nil {
		count = &suiteCount{reserved: map[string]time.Time{}}
		c.namespaces[namespace] = count
	}
	return count
}

func (c *suiteCounter) forget(namespace string) {
	if count := c.countOf(namespace); count.stored == 0 && len(count.reserved) == 0 {
		delete(c.namespaces, namespace)
	}
}

func (n *suiteCount) add(s *v1alpha1.Suite, change int) {
	n.stored += change
	if !s.Finished() {
		n.unfinished += change
	}
}

// exceeds drops expired reservations only if they might matter.
func (n *suiteCount) exceeds(b suiteBounds, now time.Time) error {
	if n.exceeded(b) == nil {
		return nil
	}
	for name, until := range n.reserved {
		if now.After(until) {
			delete(n.reserved, name)
		}
	}
	return n.exceeded(b)
}

func (n *suiteCount) exceeded(b suiteBounds) error {
	switch {
	case b.stored > 0 && n.stored+len(n.reserved) >= b.stored:
		return reject("The team has as many runs stored as it may have (maxSuites of its Team: %d), so no run was created. "+
			"Send the notification again once old runs are deleted. To have that sooner, shorten retention.ttlAfterFinished of the Triggers; "+
			"or ask the operator of this service to raise maxSuites.", b.stored)
	case b.unfinished > 0 && n.unfinished+len(n.reserved) >= b.unfinished:
		return reject("The team has as many runs that have not ended as it may have (maxUnfinishedSuites of its Team: %d), "+
			"so no run was created. Send the notification again once some have ended, "+
			"or ask the operator of this service to raise maxUnfinishedSuites.", b.unfinished)
	default:
		return nil
	}
}

// WatchSuites counts the Suites of each team, then calls changed; the cache has the change by then. A new Suite has no before, a deleted
// one no after. The returned function reports whether all Suites that existed at the start are counted.
func (d *Dispatcher) WatchSuites(
	ctx context.Context, informers cache.Informers, changed func(before, after *v1alpha1.Suite),
) (synced func() bool, err error) {
	informer, err := informers.GetInformer(ctx, &v1alpha1.Suite{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch Suites: %w", err)
	}
	observe := func(old, current any) {
		before, after := suiteOf(old), suiteOf(current)
		d.suites.observe(before, after)
		changed(before, after)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { observe(nil, obj) },
		UpdateFunc: observe,
		DeleteFunc: func(obj any) { observe(obj, nil) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Suites: %w", err)
	}
	return registration.HasSynced, nil
}

func suiteOf(obj any) *v1alpha1.Suite {
	s, _ := index.Object[*v1alpha1.Suite](obj)
	return s
}
