package runs

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// suiteIndex keeps Suites in the order of creation. A list of the cache would copy 10 MiB per page for 10,000 runs.
type suiteIndex struct {
	mu         sync.RWMutex
	namespaces map[string][]*v1alpha1.Suite // oldest first; without namespaces that have none

	looks   map[string]int // by namespace, what view.CountLook returns; without those that changed since
	changes uint64
}

func newIndex() *suiteIndex {
	return &suiteIndex{namespaces: map[string][]*v1alpha1.Suite{}, looks: map[string]int{}}
}

func (x *suiteIndex) observe(before, after *v1alpha1.Suite) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := cmp.Or(before, after); s != nil && !sameState(before, after) {
		delete(x.looks, s.Namespace)
		x.changes++
	}
	if before != nil && (after == nil || before.UID != after.UID) {
		x.remove(before)
	}
	if after != nil {
		x.put(after)
	}
}

func (x *suiteIndex) remove(s *v1alpha1.Suite) {
	all := x.namespaces[s.Namespace]
	i, found := search(all, Position(s))
	if !found {
		return
	}
	if all = slices.Delete(all, i, i+1); len(all) == 0 {
		delete(x.namespaces, s.Namespace)
		return
	}
	x.namespaces[s.Namespace] = all
}

func (x *suiteIndex) put(s *v1alpha1.Suite) {
	all := x.namespaces[s.Namespace]
	i, found := search(all, Position(s))
	if found {
		all[i] = s
		return
	}
	x.namespaces[s.Namespace] = slices.Insert(all, i, s)
}

func (x *suiteIndex) has(namespace string, r record.Run) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, found := search(x.namespaces[namespace], r)
	return found
}

func (x *suiteIndex) newest(namespace string) []*v1alpha1.Suite {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := slices.Clone(x.namespaces[namespace])
	slices.Reverse(all)
	return all
}

// look counts anew only after a change of a state: to count takes 1 ms for 10,000 runs.
func (x *suiteIndex) look(namespace string) int {
	x.mu.RLock()
	n, known := x.looks[namespace]
	changes := x.changes
	x.mu.RUnlock()
	if known {
		return n
	}
	all := x.newest(namespace)
	n = view.CountLook(all)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(all) > 0 && x.changes == changes { // otherwise a Suite may have changed meanwhile
		x.looks[namespace] = n
	}
	return n
}

// older returns at most limit matching Suites, newest first, and whether there may be more.
func (x *suiteIndex) older(
	namespace string, before *record.Run, matches func(*v1alpha1.Suite) bool, limit int,
) (page []*v1alpha1.Suite, more bool) {
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

// withResults leaves out runs that repeated only failed tests. It looks at all runs of the namespace: about 1 ms for 10,000, and a pod asks
// once.
func (x *suiteIndex) withResults(of *v1alpha1.Suite) (runs []*v1alpha1.Suite) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range x.namespaces[of.Namespace] {
		wanted := s.SameTest(of) && s.Status.Results != nil && s.Spec.OnlyFailedOf == nil &&
			s.Status.CompletionTime != nil && s.Finished()
		if !wanted {
			continue
		}
		if i, _ := slices.BinarySearchFunc(runs, s, func(a, b *v1alpha1.Suite) int { return byEnd(b, a) }); i < maxWithResults {
			runs = slices.Insert(runs, i, s)
			runs = runs[:min(len(runs), maxWithResults)]
		}
	}
	return runs
}

// byEnd is a total order, which never changes.
func byEnd(a, b *v1alpha1.Suite) int {
	return cmp.Or(a.Status.CompletionTime.Compare(b.Status.CompletionTime.Time), strings.Compare(string(a.UID), string(b.UID)))
}

func search(all []*v1alpha1.Suite, r record.Run) (int, bool) {
	return slices.BinarySearchFunc(all, r, func(s *v1alpha1.Suite, r record.Run) int { return Position(s).Compare(r) })
}

// Position is what lists are ordered by: the creation, in whole seconds as in a cursor, and the name.
func Position(s *v1alpha1.Suite) record.Run {
	r := record.Of("", s)
	r.Created = r.Created.Truncate(time.Second)
	return r
}
