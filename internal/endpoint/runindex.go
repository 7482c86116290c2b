package endpoint

import (
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/record"
)

// runIndex has the Suites of each namespace in the order of their creation, so that a page of runs costs no more than
// its length. It shares the Suites with the cache, of which a list would copy all.
type runIndex struct {
	mu         sync.RWMutex
	namespaces map[string][]*v1alpha1.Suite // oldest first; without namespaces that have none
}

func newRunIndex() *runIndex { return &runIndex{namespaces: map[string][]*v1alpha1.Suite{}} }

// observe follows the watch of Suites. A new Suite has no before, a deleted one no after.
func (x *runIndex) observe(before, after *v1alpha1.Suite) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before != nil && (after == nil || before.UID != after.UID) {
		x.remove(before)
	}
	if after != nil {
		x.put(after)
	}
}

func (x *runIndex) remove(s *v1alpha1.Suite) {
	all := x.namespaces[s.Namespace]
	i, found := search(all, position(s))
	if !found {
		return
	}
	if all = slices.Delete(all, i, i+1); len(all) == 0 {
		delete(x.namespaces, s.Namespace)
		return
	}
	x.namespaces[s.Namespace] = all
}

func (x *runIndex) put(s *v1alpha1.Suite) {
	all := x.namespaces[s.Namespace]
	i, found := search(all, position(s))
	if found {
		all[i] = s
		return
	}
	x.namespaces[s.Namespace] = slices.Insert(all, i, s)
}

// has reports whether there is a Suite of this run.
func (x *runIndex) has(namespace string, r record.Run) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, found := search(x.namespaces[namespace], r)
	return found
}

// older are the newest Suites that match, at most so many; with before, only those older than it. It reports whether
// there may be more.
func (x *runIndex) older(namespace string, before *record.Run, matches func(*v1alpha1.Suite) bool, limit int) (page []*v1alpha1.Suite, more bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := x.namespaces[namespace]
	if before != nil {
		i, _ := search(all, *before)
		all = all[:i]
	}
	for _, s := range slices.Backward(all) {
		if !matches(s) {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, s)
	}
	return page, false
}

func search(all []*v1alpha1.Suite, r record.Run) (int, bool) {
	return slices.BinarySearchFunc(all, r, func(s *v1alpha1.Suite, r record.Run) int { return position(s).Compare(r) })
}

// position is the place of a run in lists: that of its creation.
func position(s *v1alpha1.Suite) record.Run { return record.Of("", s) }
