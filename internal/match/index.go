package match

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// Index holds the Triggers of all namespaces, compiled, and finds those that want a notification.
// The zero Index is empty and ready. It is safe for concurrent use, and hands out the Triggers that
// it was given: nobody may change them.
type Index struct {
	mu         sync.RWMutex
	namespaces map[string]*namespaceIndex
}

// entry is a Trigger as it was set. It never changes.
type entry struct {
	trigger *v1alpha1.Trigger
	// matcher is nil where there is a problem.
	matcher *Matcher
	problem error
}

// Explanation says of one Trigger whether it wants a notification, and why or why not.
type Explanation struct {
	Trigger *v1alpha1.Trigger
	Matched bool
	// Criteria are those that the Trigger gives; one that is broken stands alone, not held.
	Criteria []CriterionResult
	// Skipped reports that nothing of the Trigger was looked at, and the rest is not known.
	Skipped bool
}

// Set adds a Trigger, or replaces the one of its name. It compiles once per generation, so that
// changes of status and metadata cost little. A Trigger that does not compile matches nothing;
// Problem says why. What is told of one Trigger must be told in order.
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
	x.namespaces[t.Namespace].set(e)
}

// compile runs outside the lock: notifications go on being matched meanwhile.
func (x *Index) compile(t *v1alpha1.Trigger) *entry {
	if old := x.entry(t.Namespace, t.Name); old != nil && sameGeneration(old.trigger, t) {
		return &entry{trigger: t, matcher: old.matcher, problem: old.problem}
	}
	m, err := Compile(t)
	return &entry{trigger: t, matcher: m, problem: err}
}

// sameGeneration is false for objects that never saw an API server, which have neither.
func sameGeneration(a, b *v1alpha1.Trigger) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.UID != "" && a.Generation != 0
}

// Delete removes the Trigger of that name, if there is one.
func (x *Index) Delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.namespaces[namespace]
	if p == nil {
		return
	}
	p.delete(name)
	if len(p.byName) == 0 {
		delete(x.namespaces, namespace)
	}
}

// StoppedError says that not all Triggers were tried.
type StoppedError struct {
	// Trigger is the name of the one that was tried last.
	Trigger string
}

func (e *StoppedError) Error() string { return "matching was stopped at the Trigger " + e.Trigger }

// Match returns the Triggers of the namespace that want the notification, ordered by name. It asks
// stop now and then, and where that says so ends with a *StoppedError.
func (x *Index) Match(namespace string, n *notification.Notification, stop func() bool) ([]*v1alpha1.Trigger, error) {
	a := newActivation(n)
	var matched []*v1alpha1.Trigger
	work := 0
	for _, bucket := range x.candidates(namespace, a) {
		for _, e := range bucket {
			if e.matcher.matches(a) {
				matched = append(matched, e.trigger)
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

// candidates are the Triggers that may want the notification. The evaluation needs no lock, since
// buckets and entries never change.
func (x *Index) candidates(namespace string, a *activation) [][]*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if p := x.namespaces[namespace]; p != nil {
		return p.candidates(a)
	}
	return nil
}

// Explain says of every Trigger of the namespace whether it wants the notification, ordered by name.
// Each is looked at when its turn comes: all explanations of a large team need not fit into memory.
// Once stop says so, the others are skipped.
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
	explanation := Explanation{Trigger: e.trigger}
	var broken *CompileError
	switch {
	case errors.As(e.problem, &broken):
		explanation.Criteria = []CriterionResult{{Name: broken.Criterion, Message: broken.Error()}}
	default:
		explanation.Criteria = e.matcher.Explain(n)
		explanation.Matched = !slices.ContainsFunc(explanation.Criteria, func(c CriterionResult) bool { return !c.Held })
	}
	return explanation
}

// Problem is why the Trigger of that name does not compile; nil if it does, or is unknown.
func (x *Index) Problem(namespace, name string) error {
	if e := x.entry(namespace, name); e != nil {
		return e.problem
	}
	return nil
}

func (x *Index) entry(namespace, name string) *entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if p := x.namespaces[namespace]; p != nil {
		return p.byName[name].entry
	}
	return nil
}

func (x *Index) all(namespace string) []*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p := x.namespaces[namespace]
	if p == nil {
		return nil
	}
	entries := make([]*entry, 0, len(p.byName))
	for _, e := range p.byName {
		entries = append(entries, e.entry)
	}
	slices.SortFunc(entries, byName)
	return entries
}

func byName(a, b *entry) int { return cmp.Compare(a.trigger.Name, b.trigger.Name) }
