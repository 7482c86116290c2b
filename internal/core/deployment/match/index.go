package match

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Index holds the Triggers of all namespaces, and compiles them when they are needed, or by CompileNext. The zero Index is ready for
// concurrent use. Do not change Triggers that it returns.
type Index struct {
	mu         sync.RWMutex
	namespaces map[string]*namespaceIndex
	queue      []string // of namespaces, for CompileNext
}

type entry struct {
	trigger *v1alpha1.Trigger
	matcher *Matcher    // nil if there is a problem
	problem error       // of Compile, apart from the expression
	keys    []bucketKey // of the buckets that hold it
}

// Explanation says whether a Trigger matches a notification, and why.
type Explanation struct {
	Trigger  *v1alpha1.Trigger
	Matched  bool
	Criteria []CriterionResult // all, or only the invalid one, which does not hold
	Skipped  bool              // time ran out
}

// Set adds or replaces a Trigger. Calls for the same Trigger must be in order. One that does not compile matches nothing.
// Set does not compile expressions, which may take long.
func (x *Index) Set(t *v1alpha1.Trigger) {
	e := x.compile(t)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.namespaces == nil {
		x.namespaces = map[string]*namespaceIndex{}
	}
	if x.namespaces[t.Namespace] == nil {
		x.namespaces[t.Namespace] = newNamespaceIndex()
	}
	pending := e.matcher.isPending() // another goroutine may be compiling it
	if x.namespaces[t.Namespace].set(e); pending {
		x.namespaces[t.Namespace].pending[t.Name] = e
		x.enqueue(t.Namespace)
	}
}

// compile runs outside the lock, because it may take long.
func (x *Index) compile(t *v1alpha1.Trigger) *entry {
	if old := x.entry(t.Namespace, t.Name); old != nil && sameGeneration(old.trigger, t) {
		return &entry{trigger: t, matcher: old.matcher, problem: old.problem}
	}
	m, err := prepare(t)
	return &entry{trigger: t, matcher: m, problem: err}
}

// sameGeneration is false for objects without a generation, which were never in an API server.
func sameGeneration(a, b *v1alpha1.Trigger) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.UID != "" && a.Generation != 0
}

// Delete removes the Trigger of that name, if there is one.
func (x *Index) Delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.namespaces[namespace]; p != nil {
		if p.delete(name); len(p.byName) == 0 {
			delete(x.namespaces, namespace)
		}
	}
}

// StoppedError says that not all Triggers were tried.
type StoppedError struct {
	Trigger string // the last Trigger that was tried
}

func (e *StoppedError) Error() string { return "matching was stopped at the Trigger " + e.Trigger }

// Match returns the matching Triggers of the namespace, ordered by name. It returns a *StoppedError once stop returns true.
func (x *Index) Match(namespace string, n *notification.Notification, stop func() bool) ([]*v1alpha1.Trigger, error) {
	a := newActivation(n)
	var matched []*v1alpha1.Trigger
	work := 0
	for _, bucket := range x.candidates(namespace, a) {
		for _, e := range bucket {
			pending := e.matcher.isPending()
			if e.matcher.matches(a) {
				matched = append(matched, e.trigger)
			}
			if pending && !e.matcher.isPending() {
				x.compiled(e)
			}
			if work += e.matcher.weight; work < stopEvery {
				continue
			}
			if work = 0; stop() {
				return nil, &StoppedError{Trigger: e.trigger.Name}
			}
		}
	}
	slices.SortFunc(matched, func(a, b *v1alpha1.Trigger) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(matched), nil
}

// Explain yields one Trigger at a time, ordered by name: a large team's need much memory. Once stop returns true, it skips the rest.
func (x *Index) Explain(namespace string, n *notification.Notification, stop func() bool) iter.Seq[Explanation] {
	return func(yield func(Explanation) bool) {
		stopped := false
		for _, e := range x.all(namespace) {
			explanation := Explanation{Trigger: e.trigger, Skipped: true}
			if stopped = stopped || stop(); !stopped {
				explanation = e.explain(n)
			}
			if !yield(explanation) {
				return
			}
		}
	}
}

func (e *entry) explain(n *notification.Notification) Explanation {
	if broken, ok := errors.AsType[*CompileError](cmp.Or(e.problem, e.matcher.compile())); ok {
		return Explanation{Trigger: e.trigger, Criteria: []CriterionResult{{Name: broken.Criterion, Message: broken.Error()}}}
	}
	results := e.matcher.Explain(n)
	failed := slices.ContainsFunc(results, func(c CriterionResult) bool { return !c.Held })
	return Explanation{Trigger: e.trigger, Matched: !failed, Criteria: results}
}

// CompileNext compiles one expression, of each namespace in turn, and reports whether there was one. A notification that needs one earlier
// compiles it itself.
func (x *Index) CompileNext() bool {
	e := x.next()
	if e == nil {
		return false
	}
	_ = e.matcher.compile() // Explain returns it
	x.compiled(e)
	return true
}

func (x *Index) next() *entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.queue) > 0 {
		namespace := x.queue[0]
		x.queue = x.queue[1:]
		p := x.namespaces[namespace]
		if p == nil {
			continue
		}
		for name, e := range p.pending {
			if delete(p.pending, name); len(p.pending) > 0 {
				x.enqueue(namespace)
			}
			return e
		}
	}
	return nil
}

// enqueue adds a namespace once.
func (x *Index) enqueue(namespace string) {
	if !slices.Contains(x.queue, namespace) {
		x.queue = append(x.queue, namespace)
	}
}

// compiled moves a Trigger to the buckets of its expression, or removes it from all buckets if the expression is invalid.
func (x *Index) compiled(e *entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.namespaces[e.trigger.Namespace]
	if p == nil || p.byName[e.trigger.Name] != e {
		return
	}
	delete(p.pending, e.trigger.Name)
	p.set(&entry{trigger: e.trigger, matcher: e.matcher, problem: e.problem})
}

func (x *Index) entry(namespace, name string) *entry {
	return read(x, namespace, func(p *namespaceIndex) *entry { return p.byName[name] })
}

func (x *Index) candidates(namespace string, a *activation) [][]*entry {
	return read(x, namespace, func(p *namespaceIndex) [][]*entry { return p.candidates(a) })
}

func (x *Index) all(namespace string) []*entry {
	return read(x, namespace, func(p *namespaceIndex) []*entry { return slices.SortedFunc(maps.Values(p.byName), byName) })
}

// read calls get under the lock. Entries and buckets never change, so its result needs no lock.
func read[T any](x *Index, namespace string, get func(*namespaceIndex) T) (result T) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if p := x.namespaces[namespace]; p != nil {
		result = get(p)
	}
	return result
}

func byName(a, b *entry) int { return cmp.Compare(a.trigger.Name, b.trigger.Name) }
