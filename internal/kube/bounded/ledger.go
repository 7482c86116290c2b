package bounded

import (
	"cmp"
	"context"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Ledger knows which objects a manager caches, and which are too large.
type Ledger struct {
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

// teams are the namespaces that have had a Team since the start: one that is deleted and created again must not cost its Triggers.
type teams struct {
	owned map[string]bool
	known chan struct{} // closed once all are known that there were at the start
	all   bool
}

// New returns a Ledger for the cache of one manager.
func New() *Ledger {
	return &Ledger{changed: make(chan struct{}, 1), books: map[reflect.Type]*book{}}
}

func (l *Ledger) book(kind client.Object) *book {
	t := reflect.TypeOf(kind)
	if l.books[t] == nil {
		bound, _ := namespaceBytes(kind)
		l.books[t] = &book{kind: t.Elem().Name(), bound: bound, accounts: map[string]*account{"": newAccount("", bound)}}
	}
	return l.books[t]
}

func (l *Ledger) account(b *book, namespace string) *account {
	if l.teams == nil || !l.teams.owned[namespace] {
		return b.accounts[""]
	}
	if b.accounts[namespace] == nil {
		b.accounts[namespace] = newAccount(namespace, b.bound)
	}
	return b.accounts[namespace]
}

// admit takes an object as it is now, and reports whether the cache is to have it.
func (l *Ledger) admit(s *source, obj client.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.admitLocked(s, obj)
}

func (l *Ledger) admitLocked(s *source, obj client.Object) bool {
	a := l.account(s.book, obj.GetNamespace())
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
	l.notice(a, s.book, e)
	return e.held
}

// key identifies an object, with one string for all objects of a Team's namespace.
func (a *account) key(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(a.namespace, obj.GetNamespace()), Name: obj.GetName()}
}

// notice wakes those who have something to do after a change of an account.
func (l *Ledger) notice(a *account, b *book, e *entry) {
	if a.full() || a.wants(e) != e.held {
		l.wake(b, a)
	}
	if a.refused(e) {
		l.wakeReporter()
	}
}

func (l *Ledger) wakeReporter() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *Ledger) wake(b *book, a *account) {
	for _, s := range l.sources {
		if s.book == b {
			s.reviews.add(a)
		}
	}
}

// forget takes the end of an object.
func (l *Ledger) forget(s *source, obj client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(s.book, obj.GetNamespace())
	a.deletions++
	full := a.full() || len(a.untracked) > 0
	if e := a.entries[client.ObjectKeyFromObject(obj)]; e != nil {
		a.remove(e)
	}
	if full {
		l.wake(s.book, a)
	}
}

// claim notes that a Team has a namespace, which then has a bound of its own.
func (l *Ledger) claim(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.teams.owned[namespace] {
		return
	}
	l.teams.owned[namespace] = true
	for _, b := range l.books {
		shared, own := b.accounts[""], l.account(b, namespace)
		for key, e := range shared.entries {
			if key.Namespace != namespace {
				continue
			}
			held, leftOut := e.held, e.leftOut
			shared.remove(e)
			e.told, e.Namespace = false, own.namespace // another reason, and one string for all
			own.put(e)
			own.leaveOut(e, leftOut)
			if e.held = held; held {
				own.held += e.bytes
			}
		}
		for s := range shared.untracked {
			own.seek(s)
		}
		l.wake(b, own)
		l.wake(b, shared)
	}
	l.wakeReporter()
}

func (l *Ledger) knowsTeams() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.teams.all {
		l.teams.all = true
		close(l.teams.known)
	}
}

// awaitTeams returns when it is known which namespaces have a Team.
func (l *Ledger) awaitTeams(ctx context.Context) error {
	l.mu.Lock()
	t := l.teams
	l.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin notes that a list of a source's objects begins, which the cache takes for all that it has.
func (l *Ledger) begin(s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
func (l *Ledger) complete(s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range s.book.accounts {
		for _, e := range a.entries {
			if e.from == s && e.list != s.list {
				a.remove(e)
			}
		}
		if excess, missing := a.review(); len(excess)+len(missing) > 0 {
			l.wake(s.book, a)
		}
	}
}

// Held is the memory of the cached objects of a kind, of all namespaces, in bytes.
func (l *Ledger) Held(kind client.Object) (bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.book(kind).accounts {
		bytes += a.held
	}
	return bytes
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

// stub is what identifies an object.
func stub(of client.Object) client.Object {
	o := stubOf(of)
	o.SetNamespace(of.GetNamespace())
	o.SetName(of.GetName())
	o.SetUID(of.GetUID())
	o.SetResourceVersion(of.GetResourceVersion())
	return o
}

func stubOf(kind client.Object) client.Object {
	return reflect.New(reflect.TypeOf(kind).Elem()).Interface().(client.Object)
}
