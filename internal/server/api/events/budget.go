package events

import (
	"slices"
	"sync"
)

// bodyBudget bounds the memory of bodies from senders who may be strangers: only the whole body proves its signature. When it is full, the
// namespace that takes most loses its oldest body, so each namespace has its share, whatever others receive.
type bodyBudget struct {
	size int64

	mu         sync.Mutex
	all        int64
	namespaces map[string]*bodyShare // without those that take nothing
	arriving   []*bodyRead           // bodies that can be cut off, the oldest first
}

// bodyShare is what the bodies of a namespace take, and of each of its sources.
type bodyShare struct {
	taken   int64
	sources map[string]int64
}

// bodyRead is a body, until its sender is known.
type bodyRead struct {
	budget    *bodyBudget
	namespace *bodyShare
	owner     bodyOwner
	taken     int64
	over      bool   // it takes nothing
	cutOff    func() // ends reading and waiting; called at most once, under the lock of the budget
}

// bodyOwner is the source of a body. The manager's App has no namespace.
type bodyOwner struct{ namespace, source string }

func newBodyBudget(size int64) *bodyBudget {
	return &bodyBudget{size: size, namespaces: map[string]*bodyShare{}}
}

// begin returns a body that takes nothing yet. The budget may call cutOff until keep or release is called.
func (b *bodyBudget) begin(owner bodyOwner, cutOff func()) *bodyRead {
	r := &bodyRead{budget: b, owner: owner, cutOff: cutOff}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arriving = append(b.arriving, r)
	return r
}

// take reports whether the body may have n bytes more.
func (r *bodyRead) take(n int64) bool {
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.over {
		return false
	}
	b.add(r, n)
	for b.all > b.size {
		victim := b.victim()
		if victim == nil || victim == r {
			b.end(r)
			return false
		}
		victim.cutOff()
		b.end(victim)
	}
	return true
}

// lost reports whether the body was cut off, or was refused what it needs.
func (r *bodyRead) lost() bool {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.over
}

// keep is for a body whose sender is known: it is not cut off any more.
func (r *bodyRead) keep() {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.forget(r)
}

// release gives back what the body takes. Calls after the first do nothing.
func (r *bodyRead) release() {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.end(r)
}

func (b *bodyBudget) add(r *bodyRead, n int64) {
	if r.namespace == nil {
		r.namespace = b.namespaces[r.owner.namespace]
	}
	if r.namespace == nil {
		r.namespace = &bodyShare{sources: map[string]int64{}}
		b.namespaces[r.owner.namespace] = r.namespace
	}
	r.taken += n
	r.namespace.taken += n
	r.namespace.sources[r.owner.source] += n
	b.all += n
}

// victim is the oldest body of the source that takes most, within the namespace that takes most.
func (b *bodyBudget) victim() (found *bodyRead) {
	var ofNamespace, ofSource int64
	for _, r := range b.arriving {
		if r.namespace == nil {
			continue
		}
		namespace, source := r.namespace.taken, r.namespace.sources[r.owner.source]
		if namespace > ofNamespace || namespace == ofNamespace && source > ofSource {
			found, ofNamespace, ofSource = r, namespace, source
		}
	}
	return found
}

func (b *bodyBudget) end(r *bodyRead) {
	b.forget(r)
	if r.over {
		return
	}
	r.over = true
	if r.namespace == nil {
		return
	}
	b.add(r, -r.taken)
	if r.namespace.sources[r.owner.source] == 0 {
		delete(r.namespace.sources, r.owner.source)
	}
	if r.namespace.taken == 0 {
		delete(b.namespaces, r.owner.namespace)
	}
}

func (b *bodyBudget) forget(r *bodyRead) {
	if i := slices.Index(b.arriving, r); i >= 0 {
		b.arriving = slices.Delete(b.arriving, i, i+1)
	}
}
