package bounded

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviews are the accounts whose objects are to be looked at again.
type reviews struct {
	wake chan struct{}

	mu      sync.Mutex
	pending map[*account]bool
}

func newReviews() *reviews {
	return &reviews{wake: make(chan struct{}, 1), pending: map[*account]bool{}}
}

func (r *reviews) add(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[a] = true
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reviews) take() map[*account]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.pending
	r.pending = map[*account]bool{}
	return all
}

// review reads what could be in the cache again, until the stream ends.
func (s *source) review(t *stream) {
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-s.reviews.wake:
		}
		for a := range s.reviews.take() {
			err := s.reviewAccount(t, a)
			if err != nil && t.ctx.Err() == nil {
				ctrl.LoggerFrom(t.ctx).Info("cannot read objects that could be cached again", "kind", s.book.kind, "namespace", a.namespace, "reason",
					err.Error())
			}
			if err != nil || t.ctx.Err() != nil {
				s.reviews.add(a) // for the next stream, if this one has ended
			}
		}
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(reviewEvery):
		}
	}
}

func (s *source) reviewAccount(t *stream, a *account) error {
	r := s.roster.review(s, a)
	for _, e := range r.excess {
		t.submit(func() []watch.Event { return t.marked(s.roster.drop(s, a, e)) })
	}
	var failed error
	for i, e := range r.missing {
		if i == reviewedAtOnce {
			s.reviews.add(a)
			break
		}
		failed = cmp.Or(failed, s.readOne(t, a, e)) // it keeps no others from being read
	}
	if r.search == nil {
		return failed
	}
	return cmp.Or(failed, s.find(t, a, r.search))
}

func (s *source) readOne(t *stream, a *account, e *entry) error {
	ctx, cancel := context.WithTimeout(t.ctx, readWithin)
	defer cancel()
	which := fields.Set{"metadata.namespace": e.Namespace, "metadata.name": e.Name}
	_, err := s.readPage(ctx, t, which, search{deletions: s.roster.deletionsOf(a)})
	return err
}

// find reads the next pages of a namespace.
func (s *source) find(t *stream, a *account, found *search) error {
	ctx, cancel := context.WithTimeout(t.ctx, readWithin)
	defer cancel()
	for range searchedAtOnce / objectPageSize {
		rest, err := s.readPage(ctx, t, fields.Set{"metadata.namespace": a.namespace}, *found)
		if err != nil && t.ctx.Err() != nil {
			return err // the next stream reads this page again
		}
		if more := s.roster.proceed(s, a, found, rest, err); err != nil || !more {
			return err
		}
	}
	s.reviews.add(a)
	return nil
}

// readPage submits what the API server has. Objects that are deleted meanwhile must not come back, so the account counts deletions.
func (s *source) readPage(ctx context.Context, t *stream, which fields.Set, from search) (rest string, err error) {
	options := metav1.ListOptions{FieldSelector: fields.SelectorFromSet(which).String(), Limit: objectPageSize, Continue: from.rest}
	page, err := s.origin.ListWithContext(ctx, options)
	if err != nil {
		return "", err
	}
	err = meta.EachListItemWithAlloc(page, func(o runtime.Object) error {
		if obj, ok := o.(client.Object); ok {
			strip(obj)
			t.submit(func() []watch.Event { return t.restored(obj, from.deletions) })
		}
		return nil
	})
	if err = cmp.Or(err, t.ctx.Err()); err != nil { // a stream that has ended takes nothing
		return "", err
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return "", err
	}
	return list.GetContinue(), nil
}

// submit returns once the stream has done it, or has ended.
func (t *stream) submit(found func() []watch.Event) {
	select {
	case t.do <- found:
	case <-t.ctx.Done():
	}
}

type review struct {
	excess, missing []*entry
	search          *search // some objects are to be found, too; or nil
}

func (r *Roster) review(s *source, a *account) (found review) {
	r.mu.Lock()
	defer r.mu.Unlock()
	excess, missing := a.review()
	if a.full() {
		r.wakeReporter() // an older object may have taken the room of one that was not cached yet
	}
	found.excess, found.missing = s.own(excess), s.own(missing)
	if a.namespace != "" && len(a.entries) < trackedObjects {
		found.search = a.untracked[s]
	}
	if found.search != nil && found.search.rest == "" {
		found.search.deletions = a.deletions
	}
	return found
}

// proceed notes how far a search is, unless it has to begin again, and reports whether it continues now.
func (r *Roster) proceed(s *source, a *account, done *search, rest string, err error) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.untracked[s] != done:
		return false
	case err != nil: // the list may have expired
		a.seek(s)
		return false
	case rest == "":
		delete(a.untracked, s)
		return false
	}
	done.rest = rest
	return true
}

func (s *source) own(entries []*entry) []*entry {
	return slices.DeleteFunc(entries, func(e *entry) bool { return e.from != s })
}

func (r *Roster) deletionsOf(a *account) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.deletions
}

// drop removes an object from the cache whose room older ones need.
func (r *Roster) drop(s *source, a *account, e *entry) []watch.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !a.has(e) || !e.held || a.wants(e) {
		return nil
	}
	a.release(e)
	a.leaveOut(e, true)
	a.changed = true
	r.notice(a, s.book, e)
	return []watch.Event{{Type: watch.Deleted, Object: e.stub()}}
}

// restore reports whether an object goes into the cache that was read apart from the stream. What the stream has had since counts more.
func (r *Roster) restore(s *source, obj client.Object, deletions uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(s.book, obj.GetNamespace())
	e := a.entries[client.ObjectKeyFromObject(obj)]
	switch {
	case e == nil && a.deletions != deletions:
		a.seek(s)
		r.wake(s.book, a)
		return false
	case e != nil && (e.held || e.version != obj.GetResourceVersion()):
		return false
	}
	return r.admitLocked(s, obj)
}
