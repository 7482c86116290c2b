package lead

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// errTermOver says that a request was not sent because the process that made it does not lead any more.
var errTermOver = errors.New("this replica does not lead any more")

// Fence sends no request of a term that is over, even if the process stood still for longer than its lease. While a renewal of the lease is
// late, requests wait for it.
func Fence(next http.RoundTripper) http.RoundTripper { return fencedTransport{next} }

type fencedTransport struct{ next http.RoundTripper }

func (t fencedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f, ok := r.Context().Value(fenceKey{}).(*fence)
	if !ok {
		return t.next.RoundTrip(r)
	}
	if err := f.await(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type fenceKey struct{}

// fence closes when its term is over, or the lease was not renewed in time. In the second case it may open again.
type fence struct {
	term  context.Context
	lock  *renewedLock
	valid time.Duration
	late  atomic.Bool // the last renewal is, and a line in the log says so
}

func withFence(term context.Context, lock *renewedLock, valid time.Duration) context.Context {
	return context.WithValue(term, fenceKey{}, &fence{term: term, lock: lock, valid: valid})
}

// await returns when a request may be sent, or why it may not. Refusing requests while the renewal is late would make every reconcile fail
// at once, again and again, until the elector knows: either the lease is renewed, or the term ends.
func (f *fence) await(request context.Context) error {
	for {
		last := f.lock.last()
		if f.term.Err() != nil {
			return errTermOver
		}
		if f.open(last, time.Now()) {
			f.note(false, "the lease is renewed, so this replica continues to lead")
			return nil
		}
		f.note(true, f.whyClosed())
		select {
		case <-last.followed:
		case <-f.term.Done():
		case <-request.Done():
			return request.Err()
		}
	}
}

// open compares both clocks: the monotonic one may stand still while the machine is suspended.
func (f *fence) open(last *renewal, now time.Time) bool {
	return !f.lock.lost.Load() && now.Sub(last.sent) < f.valid && now.Round(0).Sub(last.sent.Round(0)) < f.valid
}

func (f *fence) whyClosed() string {
	if f.lock.lost.Load() {
		return "somebody deleted the lease, or gave it to another replica, so this replica sends nothing as the leader until it is elected again"
	}
	return "the lease was not renewed in time, so this replica sends nothing as the leader until it is, or another one leads"
}

// note logs a change once, however many requests wait.
func (f *fence) note(late bool, message string) {
	if f.late.CompareAndSwap(!late, late) {
		log.FromContext(f.term).Info(message)
	}
}

// renewal of the lease that succeeded.
type renewal struct {
	sent        time.Time
	transitions int           // of the lease between holders so far
	followed    chan struct{} // closed by the next one
}

// renewedLock remembers when the last renewal of a term was sent: others count from when the API server stored it.
type renewedLock struct {
	resourcelock.Interface
	at   atomic.Pointer[renewal]
	lost atomic.Bool // the lease was deleted in this term, or given to another replica, which may already lead
}

// last is never renewed if there is none.
func (l *renewedLock) last() *renewal {
	if last := l.at.Load(); last != nil {
		return last
	}
	return &renewal{}
}

func (l *renewedLock) renewed() time.Time { return l.last().sent }

// expire ends the term when its last renewal is too old. The elector would count from its latest attempt, and others may lead before that.
func (l *renewedLock) expire(term context.Context, valid time.Duration, end func()) {
	for term.Err() == nil {
		last := l.last()
		select {
		case <-time.After(time.Until(last.sent.Add(valid))):
			if l.last() == last {
				end()
			}
		case <-last.followed:
		case <-term.Done():
		}
	}
}

// Get is asked when a renewal has failed.
func (l *renewedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if l.at.Load() != nil && (apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != l.Identity()) {
		l.lost.Store(true)
	}
	return record, raw, err
}

// Create is for the first lease, and for the one of a later term.
func (l *renewedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.lost.Load() {
		return errOtherTerm
	}
	return l.note(record, func() error { return l.Interface.Create(ctx, record) })
}

// errOtherTerm keeps the elector from renewing the lease, so that the term ends.
var errOtherTerm = errors.New("another replica may have led meanwhile, so this term must end")

// Update does not take a lease again that another replica has held and given back: what waits in this term knows nothing of that.
func (l *renewedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if last := l.at.Load(); l.lost.Load() || last != nil && last.transitions != record.LeaderTransitions {
		return errOtherTerm
	}
	return l.note(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *renewedLock) note(record resourcelock.LeaderElectionRecord, write func() error) error {
	current := &renewal{time.Now(), record.LeaderTransitions, make(chan struct{})}
	err := write()
	if err == nil {
		if before := l.at.Swap(current); before != nil {
			close(before.followed)
		}
	}
	return err
}
