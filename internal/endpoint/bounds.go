package endpoint

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// creationCounts is how long a Suite that a replica creates is counted before the watch tells of it: longer
// than any hold and any watch that lags. One that never comes, as it was deleted meanwhile, must not
// be counted for ever.
const creationCounts = 2 * time.Minute

// suiteBounds are how many Suites a team may have; 0 means no limit.
type suiteBounds struct{ stored, unfinished int }

func boundsOf(t *v1alpha1.Team) suiteBounds {
	return suiteBounds{stored: int(t.SuiteBound()), unfinished: int(t.UnfinishedSuiteBound())}
}

// suiteCounter counts the Suites of each namespace: those that the watch of this replica knows, and those
// that this replica is creating, so that a burst does not pass while the watch lags. Another replica's
// count only once the watch tells of them.
type suiteCounter struct {
	mu         sync.Mutex
	namespaces map[string]*suiteCount // which have any
}

type suiteCount struct {
	stored, unfinished int
	creating           map[string]time.Time // until when it counts, by name
}

func newSuiteCounter() *suiteCounter { return &suiteCounter{namespaces: map[string]*suiteCount{}} }

// observe counts a change that the watch tells of. A new Suite has no before, a deleted one no after.
func (c *suiteCounter) observe(before, after *v1alpha1.Suite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after != nil {
		count := c.of(after.Namespace)
		count.add(after, 1)
		delete(count.creating, after.Name)
	}
	if before != nil {
		c.of(before.Namespace).add(before, -1)
		c.forget(before.Namespace)
	}
}

// reserve counts a Suite that is about to be created, once, unless the team has as many as it may: then
// the error says so.
func (c *suiteCounter) reserve(suite types.NamespacedName, b suiteBounds, now time.Time) error {
	if b == (suiteBounds{}) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.of(suite.Namespace)
	if _, again := count.creating[suite.Name]; again {
		return nil
	}
	if err := count.exceeds(b, now); err != nil {
		c.forget(suite.Namespace)
		return err
	}
	count.creating[suite.Name] = now.Add(creationCounts)
	return nil
}

// release takes back a reservation: the Suite was not created.
func (c *suiteCounter) release(suite types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of(suite.Namespace).creating, suite.Name)
	c.forget(suite.Namespace)
}

// full says why the team can have no more Suites; nil where it can.
func (c *suiteCounter) full(namespace string, b suiteBounds, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.forget(namespace)
	return c.of(namespace).exceeds(b, now)
}

func (c *suiteCounter) of(namespace string) *suiteCount {
	count := c.namespaces[namespace]
	if count == nil {
		count = &suiteCount{creating: map[string]time.Time{}}
		c.namespaces[namespace] = count
	}
	return count
}

// forget keeps namespaces that were deleted from being remembered.
func (c *suiteCounter) forget(namespace string) {
	if count := c.of(namespace); count.stored == 0 && len(count.creating) == 0 {
		delete(c.namespaces, namespace)
	}
}

// add counts a Suite, or with -1 no longer.
func (n *suiteCount) add(s *v1alpha1.Suite, change int) {
	n.stored += change
	if !s.Finished() {
		n.unfinished += change
	}
}

// exceeds looks for reservations that no longer count only where they would make the difference.
func (n *suiteCount) exceeds(b suiteBounds, now time.Time) error {
	if n.exceeded(b) == nil {
		return nil
	}
	for name, until := range n.creating {
		if now.After(until) {
			delete(n.creating, name)
		}
	}
	return n.exceeded(b)
}

func (n *suiteCount) exceeded(b suiteBounds) error {
	switch {
	case b.stored > 0 && n.stored+len(n.creating) >= b.stored:
		return refusef("The team has as many runs stored as it may have (maxSuites of its Team: %d), so no run was created. "+
			"Send the notification again once old runs are deleted. To have that sooner, shorten retention.ttlAfterFinished of the Triggers; "+
			"or ask the operator of this service to raise maxSuites.", b.stored)
	case b.unfinished > 0 && n.unfinished+len(n.creating) >= b.unfinished:
		return refusef("The team has as many runs that have not ended as it may have (maxUnfinishedSuites of its Team: %d), so no run was created. "+
			"Send the notification again once some have ended, or ask the operator of this service to raise maxUnfinishedSuites.", b.unfinished)
	default:
		return nil
	}
}
