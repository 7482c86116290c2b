package workloads

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Selection is which objects of its source a workload means.
type Selection struct {
	name     string
	selector labels.Selector // nil: the object with the name
	among    []string        // nil: the selector may find all objects
}

// SelectionOf returns the Selection of a workload. An invalid or empty selector, which the API server does not reject, selects nothing.
func SelectionOf(w v1alpha1.Workload) Selection {
	if w.Selector == nil {
		return Selection{name: w.Name}
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil || selector.Empty() {
		selector = labels.Nothing()
	}
	return Selection{selector: selector}
}

// SelectionFor returns the Selection of a workload, without objects that the team of its Environment may not name: these would take room of
// the team, and messages could mention them.
func SelectionFor(e *v1alpha1.Environment, team *v1alpha1.Team, w v1alpha1.Workload) Selection {
	s := SelectionOf(w)
	if source := SourceOf(e, w); s.selector != nil && source.Namespace != e.Namespace {
		s.among = allowedNames(team, source.Namespace)
	}
	return s
}

// Name returns the name of the only object that the workload may mean, unless it selects by labels.
func (s Selection) Name() (name string, byName bool) { return s.name, s.selector == nil }

// Has reports whether the workload means an object.
func (s Selection) Has(o metav1.Object) bool {
	if s.selector == nil {
		return s.name == o.GetName()
	}
	return (s.among == nil || slices.Contains(s.among, o.GetName())) && s.selector.Matches(labels.Set(o.GetLabels()))
}

// names are those of the only objects that the workload may mean; nil: they are not known.
func (s Selection) names() []string {
	if s.selector == nil {
		return []string{s.name}
	}
	return s.among
}

// label returns a label that all selected objects have, if the selector requires one and their names are not known.
func (s Selection) label() (l label, found bool) {
	if s.names() != nil {
		return label{}, false
	}
	requirements, _ := s.selector.Requirements()
	for _, r := range requirements {
		single := r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals || r.Operator() == selection.In
		if values := r.ValuesUnsorted(); single && len(values) == 1 {
			return label{r.Key(), values[0]}, true
		}
	}
	return label{}, false
}

type label struct{ name, value string }

// Namers are the Environments that name objects of a source. They find those of an object without looking at all.
type Namers struct {
	mu      sync.RWMutex
	byName  map[string]namers
	byLabel map[label]namers
	others  namers // by selectors that ask for no label with one value
	all     map[types.NamespacedName][]Selection
}

type namers map[types.NamespacedName][]Selection

// NewNamers returns an index without Environments.
func NewNamers() *Namers {
	return &Namers{byName: map[string]namers{}, byLabel: map[label]namers{}, others: namers{}, all: namers{}}
}

// Set replaces what an Environment names; nothing: it names no object of the source any more.
func (n *Namers) Set(environment types.NamespacedName, selections []Selection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.all[environment] {
		n.remove(environment, s)
	}
	if delete(n.all, environment); len(selections) > 0 {
		n.all[environment] = selections
	}
	for _, s := range selections {
		n.add(environment, s)
	}
}

func (n *Namers) add(environment types.NamespacedName, s Selection) {
	for _, own := range n.indexes(s) {
		own[environment] = append(own[environment], s)
	}
}

// indexes are where a Selection is looked up.
func (n *Namers) indexes(s Selection) (all []namers) {
	for _, name := range s.names() {
		all = append(all, entry(n.byName, name))
	}
	if l, found := s.label(); found {
		all = append(all, entry(n.byLabel, l))
	}
	if s.names() == nil && len(all) == 0 {
		all = append(all, n.others)
	}
	return all
}

func entry[K comparable](index map[K]namers, key K) namers {
	if index[key] == nil {
		index[key] = namers{}
	}
	return index[key]
}

func (n *Namers) remove(environment types.NamespacedName, s Selection) {
	for _, own := range n.indexes(s) {
		delete(own, environment)
	}
	for _, name := range s.names() {
		if len(n.byName[name]) == 0 {
			delete(n.byName, name)
		}
	}
	if l, found := s.label(); found && len(n.byLabel[l]) == 0 {
		delete(n.byLabel, l)
	}
}

// Of returns the Environments that name an object, in a stable order.
func (n *Namers) Of(o metav1.Object) []types.NamespacedName {
	n.mu.RLock()
	defer n.mu.RUnlock()
	found := map[types.NamespacedName]bool{}
	n.byName[o.GetName()].find(o, found)
	n.others.find(o, found)
	for name, value := range o.GetLabels() {
		n.byLabel[label{name, value}].find(o, found)
	}
	return sortedNames(found)
}

func (n namers) find(o metav1.Object, found map[types.NamespacedName]bool) {
	for environment, selections := range n {
		if !found[environment] && slices.ContainsFunc(selections, func(s Selection) bool { return s.Has(o) }) {
			found[environment] = true
		}
	}
}

// Has reports whether an Environment names objects of the source.
func (n *Namers) Has(environment types.NamespacedName) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.all[environment]) > 0
}

// Len is how many Environments name objects of the source.
func (n *Namers) Len() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.all)
}

// All returns all Environments that name objects of the source.
func (n *Namers) All() []types.NamespacedName {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return sortedNames(n.all)
}

func sortedNames[V any](set map[types.NamespacedName]V) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(set), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
