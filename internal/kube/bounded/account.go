package bounded

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// entry is what is known of an object.
type entry struct {
	types.NamespacedName
	uid        types.UID
	version    string
	generation int64
	created    time.Time
	revokes    bool // an APIKey that ends the use of others
	bytes      int64
	held       bool   // it is in the cache
	told       string // the message of its Ready condition, if that says that it is not
	from       *source
	list       uint64 // the number of the list of its source that had it last
}

// account is for the objects of a kind that share a bound.
type account struct {
	bound     int64
	namespace string // "" for all namespaces without a Team
	entries   map[types.NamespacedName]*entry
	held      int64 // the memory of those in the cache
	total     int64 // of all that could be there
	untracked bool  // there are more objects than entries
	deletions uint64
}

func newAccount(namespace string, bound int64) *account {
	return &account{bound: bound, namespace: namespace, entries: map[types.NamespacedName]*entry{}}
}

// before orders objects: the oldest are cached, in every replica the same ones.
func before(a, b *entry) int {
	if a.revokes != b.revokes {
		if a.revokes {
			return -1
		}
		return 1
	}
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (a *account) counts(e *entry) int64 {
	if e.bytes > objectBytes {
		return 0
	}
	return e.bytes
}

// put adds or replaces an object, and reports whether it has an entry.
func (a *account) put(e *entry) bool {
	old := a.entries[e.NamespacedName]
	if old == nil && len(a.entries) >= trackedObjects {
		a.untracked = true
		return false
	}
	if old != nil {
		a.remove(old)
	}
	a.entries[e.NamespacedName] = e
	a.total += a.counts(e)
	return true
}

func (a *account) remove(e *entry) {
	a.release(e)
	a.total -= a.counts(e)
	delete(a.entries, e.NamespacedName)
}

func (a *account) release(e *entry) {
	if e.held {
		a.held -= e.bytes
		e.held = false
	}
}

// hold puts an object into the cache if it is to be there, and there is room now.
func (a *account) hold(e *entry) {
	if !e.held && a.wants(e) && a.held+e.bytes <= a.bound {
		e.held = true
		a.held += e.bytes
	}
}

// wants reports whether an object is to be in the cache: it and all older ones fit.
func (a *account) wants(e *entry) bool {
	if e.bytes > objectBytes {
		return false
	}
	if a.total <= a.bound {
		return true
	}
	sum := e.bytes
	for _, o := range a.entries {
		if before(o, e) < 0 {
			sum += a.counts(o)
		}
	}
	return sum <= a.bound
}

// review returns what is in the cache and must not be, and what is not and could.
func (a *account) review() (excess, missing []*entry) {
	sum := int64(0)
	for _, e := range a.sorted() {
		sum += a.counts(e)
		wanted := sum <= a.bound && e.bytes <= objectBytes
		switch {
		case e.held && !wanted:
			excess = append(excess, e)
		case wanted && !e.held:
			missing = append(missing, e)
		}
	}
	return excess, missing
}

func (a *account) sorted() []*entry {
	all := make([]*entry, 0, len(a.entries))
	for _, e := range a.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, before)
	return all
}

// message says why an object is not cached.
func (a *account) message(e *entry, kind string) string {
	switch {
	case e.bytes > objectBytes:
		return fmt.Sprintf("The %s has no effect, because it takes %d KiB of the manager's memory, and %d are allowed. "+
			"Make it smaller, or divide it.", kind, e.bytes>>10, objectBytes>>10)
	case a.namespace == "":
		return fmt.Sprintf("The %s has no effect, because no Team claims the namespace %q, and all such namespaces share %d KiB "+
			"of the manager's memory for objects of this kind. Create the Team.", kind, e.Namespace, a.bound>>10)
	default:
		return fmt.Sprintf("The %s has no effect, because it and the older ones of this namespace take more than %d KiB of the "+
			"manager's memory. Delete some, or make them smaller.", kind, a.bound>>10)
	}
}

// refused reports whether an object is out of the cache and its status does not say why.
func (a *account) refused(e *entry, kind string) bool {
	return !e.held && !a.wants(e) && e.told != a.message(e, kind)
}
