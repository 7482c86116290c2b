package ui

import (
	"cmp"
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// runIndex has the runs of each namespace, newest first. The cache could only list them all, which takes 10 MiB for
// each page of a team with 10,000 runs. It holds the cache's own objects, so a run costs a pointer.
type runIndex struct {
	mu          sync.RWMutex
	byNamespace map[string][]*v1alpha1.Suite
}

func newRunIndex() *runIndex { return &runIndex{byNamespace: map[string][]*v1alpha1.Suite{}} }

// observe follows a change, and returns the Suite that changed; nil if there is nothing to see.
func (x *runIndex) observe(before, after *v1alpha1.Suite) *v1alpha1.Suite {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before != nil {
		x.remove(before)
	}
	if after != nil {
		x.insert(after)
	}
	return cmp.Or(after, before)
}

func (x *runIndex) insert(s *v1alpha1.Suite) {
	runs := x.byNamespace[s.Namespace]
	i, exists := slices.BinarySearchFunc(runs, s, newestFirst)
	if exists {
		runs[i] = s
		return
	}
	x.byNamespace[s.Namespace] = slices.Insert(runs, i, s)
}

func (x *runIndex) remove(s *v1alpha1.Suite) {
	runs := x.byNamespace[s.Namespace]
	if i, exists := slices.BinarySearchFunc(runs, s, newestFirst); exists {
		x.byNamespace[s.Namespace] = slices.Delete(runs, i, i+1)
	}
	if len(x.byNamespace[s.Namespace]) == 0 {
		delete(x.byNamespace, s.Namespace)
	}
}

// newestFirst depends on nothing that can change.
func newestFirst(a, b *v1alpha1.Suite) int {
	return cmp.Or(b.CompareReceived(a), cmp.Compare(a.Name, b.Name))
}

// of returns the runs of a namespace. The Suites belong to the cache: read them, never change them.
func (x *runIndex) of(namespace string) []*v1alpha1.Suite {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.byNamespace[namespace])
}
