package match

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// Index holds the Triggers of all namespaces, compiled, and finds those that want a notification.
// The zero Index is empty and ready. It is safe for concurrent use.
type Index struct {
	mu       sync.RWMutex
	triggers map[types.NamespacedName]*entry
}

type entry struct {
	trigger *v1alpha1.Trigger
	matcher *Matcher
	problem error
}

// Explanation says of one Trigger whether it wants a notification, and why or why not.
type Explanation struct {
	Trigger    *v1alpha1.Trigger
	Matched    bool
	Conditions []Condition
}

// Set adds a Trigger, or replaces the one of its name. The Trigger must not change afterwards. One
// that does not compile matches nothing; Problem says why.
func (x *Index) Set(t *v1alpha1.Trigger) {
	m, err := Compile(t)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.triggers == nil {
		x.triggers = map[types.NamespacedName]*entry{}
	}
	x.triggers[types.NamespacedName{Namespace: t.Namespace, Name: t.Name}] = &entry{trigger: t, matcher: m, problem: err}
}

// Delete removes the Trigger of that name, if there is one.
func (x *Index) Delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.triggers, types.NamespacedName{Namespace: namespace, Name: name})
}

// Match returns the Triggers of the namespace that want the notification, ordered by name. They are
// those that Set was given, shared: read them only.
func (x *Index) Match(namespace string, n *notification.Notification) []*v1alpha1.Trigger {
	var matched []*v1alpha1.Trigger
	for _, e := range x.entries(namespace) {
		if e.problem == nil && e.matcher.Matches(n) {
			matched = append(matched, e.trigger)
		}
	}
	return matched
}

// Explain says of every Trigger of the namespace whether it wants the notification, ordered by name.
func (x *Index) Explain(namespace string, n *notification.Notification) []Explanation {
	var explanations []Explanation
	for _, e := range x.entries(namespace) {
		if e.problem != nil {
			continue
		}
		explanations = append(explanations, Explanation{Trigger: e.trigger, Matched: e.matcher.Matches(n), Conditions: e.matcher.Explain(n)})
	}
	return explanations
}

// Problem is why the Trigger of that name does not compile; nil if it does, or is unknown.
func (x *Index) Problem(namespace, name string) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e, ok := x.triggers[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		return e.problem
	}
	return nil
}

func (x *Index) entries(namespace string) []*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	names := slices.SortedFunc(maps.Keys(x.triggers), func(a, b types.NamespacedName) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	var entries []*entry
	for _, name := range names {
		if name.Namespace == namespace {
			entries = append(entries, x.triggers[name])
		}
	}
	return entries
}
