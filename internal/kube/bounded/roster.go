package bounded

import (
	"cmp"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// Roster knows which objects a manager caches, and which are too large.
type Roster struct {
	changed chan struct{} // the Reporter may have something to write

	mu      sync.Mutex
	teams   *teams
	sources []*source
	books   map[reflect.Type]*book
}

// book has the accounts of a kind.
type book struct {
	kind     string
	bound    int64
	accounts map[string]*account // by namespace; "" is for all without a Team
}

// New returns a Roster for the cache of one manager.
func New() *Roster {
	return &Roster{changed: make(chan struct{}, 1), books: map[reflect.Type]*book{}}
}

func (r *Roster) book(kind client.Object) *book {
	t := reflect.TypeOf(kind)
	if r.books[t] == nil {
		bound, _ := namespaceBytes(kind)
		r.books[t] = &book{kind: t.Elem().Name(), bound: bound, accounts: map[string]*account{"": newAccount("", bound)}}
	}
	return r.books[t]
}

func (r *Roster) account(b *book, namespace string) *account {
	if r.teams == nil || !r.teams.owned[namespace] {
		return b.accounts[""]
	}
	if b.accounts[namespace] == nil {
		b.accounts[namespace] = newAccount(namespace, b.bound)
	}
	return b.accounts[namespace]
}

// admit takes an object as it is now, and reports whether the cache is to have it.
func (r *Roster) admit(s *source, obj client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admitLocked(s, obj)
}

func (r *Roster) admitLocked(s *source, obj client.Object) bool {
	a := r.account(s.book, obj.GetNamespace())
	e := &entry{
		NamespacedName: a.key(obj), from: s, list: s.list, uid: obj.GetUID(), version: obj.GetResourceVersion(), generation: obj.GetGeneration(),
		created: obj.GetCreationTimestamp().Time, revokes: revokes(obj), bytes: Size(obj),
	}
	if message := told(obj); message != "" {
		e.told = message == a.message(e, s.book.kind)
	}
	if !a.put(e) {
		return false
	}
	a.hold(e)
	a.leaveOut(e, !e.held)
	r.notice(a, s.book, e)
	return e.held
}

// key identifies an object, with one string for all objects of a Team's namespace.
func (a *account) key(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(a.namespace, obj.GetNamespace()), Name: obj.GetName()}
}

// notice wakes those who have something to do after a change of an account.
func (r *Roster) notice(a *account, b *book, e *entry) {
	if a.full() || a.wants(e) != e.held {
		r.wake(b, a)
	}
	if a.refused(e) {
		r.wakeReporter()
	}
}

func (r *Roster) wakeReporter() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *Roster) wake(b *book, a *account) {
	for _, s := range r.sources {
		if s.book == b {
			s.reviews.add(a)
		}
	}
}

// forget takes the end of an object.
func (r *Roster) forget(s *source, obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(s.book, obj.GetNamespace())
	a.deletions++
	full := a.full() || len(a.untracked) > 0
	if e := a.entries[client.ObjectKeyFromObject(obj)]; e != nil {
		a.remove(e)
	}
	if full {
		r.wake(s.book, a)
	}
}

// begin notes that a list of a source's objects begins, which the cache takes for all that it has.
func (r *Roster) begin(s *source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.list++
	for _, a := range s.book.accounts {
		for _, e := range a.entries {
			if e.from == s {
				a.release(e)
			}
		}
	}
}

// complete forgets what a list did not have.
func (r *Roster) complete(s *source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range s.book.accounts {
		for _, e := range a.entries {
			if e.from == s && e.list != s.list {
				a.remove(e)
			}
		}
		if excess, missing := a.review(); len(excess)+len(missing) > 0 {
			r.wake(s.book, a)
		}
	}
}

func revokes(obj client.Object) bool {
	key, ok := obj.(*v1alpha1.APIKey)
	return ok && (key.Spec.Suspended || key.Spec.ExpiresAt != nil || key.DeletionTimestamp != nil)
}

// told is the message of the condition that says that an object is not cached, or "".
func told(obj client.Object) string {
	c := meta.FindStatusCondition(conditions(obj), v1alpha1.ConditionReady)
	if c == nil || c.Reason != v1alpha1.ReasonTooLarge || c.ObservedGeneration != obj.GetGeneration() {
		return ""
	}
	return c.Message
}

func conditions(obj client.Object) []metav1.Condition {
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	all, _ := status.FieldByName("Conditions").Interface().([]metav1.Condition)
	return all
}

// strip drops what the manager does not read: it is often more than half of an object, and as large as its author wants.
func strip(obj client.Object) {
	obj.SetManagedFields(nil)
	kept := map[string]string{}
	for name, value := range obj.GetAnnotations() {
		if strings.HasPrefix(name, ownAnnotations) {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		kept = nil
	}
	obj.SetAnnotations(kept)
}

const ownAnnotations = "postflight.dev/"

// stubOf returns an object that has no more than what identifies it.
func stubOf(kind client.Object, name types.NamespacedName, uid types.UID, version string) client.Object {
	o := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(client.Object)
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	o.SetUID(uid)
	o.SetResourceVersion(version)
	return o
}

// LeftOutTriggers returns the Triggers of a namespace that are not in the cache, which looks as if they did not exist. Those that will be
// there as soon as they are read are among them.
func (r *Roster) LeftOutTriggers(namespace string) (left match.LeftOut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(r.book(&v1alpha1.Trigger{}), namespace)
	left.Unknown = len(a.untracked) > 0
	if a.leftOut == 0 {
		return left
	}
	for _, q := range []queue{a.order, a.large} {
		for _, e := range q {
			switch {
			case !e.leftOut || e.Namespace != namespace:
			case len(left.Names) == match.MaxLeftOut:
				left.Others++
			default:
				left.Names = append(left.Names, e.Name)
			}
		}
	}
	return left
}
