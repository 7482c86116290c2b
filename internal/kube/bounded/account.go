package bounded

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	held       bool // it is in the cache
	leftOut    bool // it was not when it was last looked at; it keeps that while a list is read, which begins with nothing held
	told       bool // its Ready condition says why it is not
	from       *source
	list       uint64 // the number of the list of its source that had it last
}

func (e *entry) tooLarge() bool { return e.bytes > objectBytes }

func (e *entry) stub() client.Object { return stubOf(e.from.kind, e.NamespacedName, e.uid, e.version) }

// account is for the objects of a kind that share a bound.
type account struct {
	bound     int64
	namespace string // "" for all namespaces without a Team
	entries   map[types.NamespacedName]*entry
	large     queue               // of these, those that are too large by themselves
	order     queue               // all others
	fit       int                 // so many of the first in order are to be in the cache
	fitting   int64               // their memory
	held      int64               // the memory of those in the cache
	leftOut   int                 // how many are
	changed   bool                // some may be refused and not told
	untracked map[*source]*search // those that have more objects than entries
	deletions uint64
}

// search is how far a source has read a namespace again, to find the objects that have no entries.
type search struct {
	rest      string // of the list; "": it has not begun
	deletions uint64 // of the account, when it began
}

// seek begins a search, perhaps from the beginning.
func (a *account) seek(s *source) {
	if a.untracked == nil {
		a.untracked = map[*source]*search{}
	}
	a.untracked[s] = &search{}
}

func newAccount(namespace string, bound int64) *account {
	return &account{bound: bound, namespace: namespace, entries: map[types.NamespacedName]*entry{}}
}

// queue is sorted.
type queue []*entry

func (q *queue) add(e *entry) (place int) {
	i, _ := slices.BinarySearchFunc(*q, e, before)
	*q = slices.Insert(*q, i, e)
	return i
}

func (q *queue) remove(e *entry) (place int) {
	i, _ := slices.BinarySearchFunc(*q, e, before)
	*q = slices.Delete(*q, i, i+1)
	return i
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

// has reports whether an entry was not replaced.
func (a *account) has(e *entry) bool { return a.entries[e.NamespacedName] == e }

// put adds or replaces an object, and reports whether it has an entry.
func (a *account) put(e *entry) bool {
	old := a.entries[e.NamespacedName]
	if old == nil && len(a.entries) >= trackedObjects {
		a.seek(e.from)
		return false
	}
	if old != nil {
		a.remove(old)
	}
	a.entries[e.NamespacedName] = e
	a.changed = true
	if e.tooLarge() {
		a.large.add(e)
		return true
	}
	if a.order.add(e) < a.fit {
		a.fit++
		a.fitting += e.bytes
	}
	a.adjust()
	return true
}

func (a *account) remove(e *entry) {
	a.release(e)
	a.leaveOut(e, false)
	delete(a.entries, e.NamespacedName)
	if e.tooLarge() {
		a.large.remove(e)
		return
	}
	if a.order.remove(e) < a.fit {
		a.fit--
		a.fitting -= e.bytes
	}
	a.adjust()
}

// adjust moves the end of what fits, past as many objects as have the size of what has changed.
func (a *account) adjust() {
	for a.fitting > a.bound {
		a.fit--
		a.fitting -= a.order[a.fit].bytes
	}
	for a.fit < len(a.order) && a.fitting+a.order[a.fit].bytes <= a.bound {
		a.fitting += a.order[a.fit].bytes
		a.fit++
	}
}

// full reports whether objects wait for room.
func (a *account) full() bool { return a.fit < len(a.order) }

func (a *account) release(e *entry) {
	if e.held {
		a.held -= e.bytes
		e.held = false
	}
}

func (a *account) leaveOut(e *entry, out bool) {
	switch {
	case out && !e.leftOut:
		a.leftOut++
	case !out && e.leftOut:
		a.leftOut--
	}
	e.leftOut = out
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
	return !e.tooLarge() && (!a.full() || before(e, a.order[a.fit]) < 0)
}

// review returns what is in the cache and must not be, and what is not and could.
func (a *account) review() (excess, missing []*entry) {
	for _, e := range a.order[:a.fit] {
		if !e.held {
			missing = append(missing, e)
		}
	}
	for _, e := range a.order[a.fit:] {
		if e.held {
			excess = append(excess, e)
		}
	}
	return excess, missing
}

// message says why an object is not cached.
func (a *account) message(e *entry, kind string) string {
	switch {
	case e.tooLarge():
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
func (a *account) refused(e *entry) bool { return !e.held && !e.told && !a.wants(e) }
