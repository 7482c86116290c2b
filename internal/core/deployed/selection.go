package deployed

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
}

// SelectionOf returns that of a workload. The API server does not check the values of a selector: one that is invalid, or empty, selects nothing.
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

// Name returns that of the only object that the workload may mean, unless it selects by labels.
func (s Selection) Name() (name string, byName bool) { return s.name, s.selector == nil }

// Has reports whether the workload means an object.
func (s Selection) Has(o metav1.Object) bool {
	if s.selector == nil {
		return s.name == o.GetName()
	}
	return s.selector.Matches(labels.Set(o.GetLabels()))
}

// label returns one that all selected objects have, if the selector says so.
func (s Selection) label() (l label, found bool) {
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
	own := n.others
	if s.selector == nil {
		own = entry(n.byName, s.name)
	} else if l, found := s.label(); found {
		own = entry(n.byLabel, l)
	}
	own[environment] = append(own[environment], s)
}

func entry[K comparable](index map[K]namers, key K) namers {
	if index[key] == nil {
		index[key] = namers{}
	}
	return index[key]
}

func (n *Namers) remove(environment types.NamespacedName, s Selection) {
	if s.selector == nil {
		leave(n.byName, s.name, environment)
	} else if l, found := s.label(); found {
		leave(n.byLabel, l, environment)
	} else {
		delete(n.others, environment)
	}
}

func leave[K comparable](index map[K]namers, key K, environment types.NamespacedName) {
	if delete(index[key], environment); len(index[key]) == 0 {
		delete(index, key)
	}
}

// Of returns the Environments that name an object, in a stable order.
func (n *Namers) Of(o metav1.Object) []types.NamespacedName {
	n.mu.RLock()
	defer n.mu.RUnlock()
	found := map[types.NamespacedName]bool{}
	for environment := range n.byName[o.GetName()] {
		found[environment] = true
	}
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
