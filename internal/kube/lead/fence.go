package lead

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrTermOver says that a request was not sent because the process that made it does not lead any more.
var ErrTermOver = errors.New("this replica does not lead any more")

// Fence sends no request of a term that is over, even if the process stood still for longer than its lease.
func Fence(next http.RoundTripper) http.RoundTripper { return fencedTransport{next} }

type fencedTransport struct{ next http.RoundTripper }

func (t fencedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f, ok := r.Context().Value(fenceKey{}).(*fence)
	if !ok || f.open(time.Now()) {
		return t.next.RoundTrip(r)
	}
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, ErrTermOver
}

// WrappedRoundTripper lets client-go find the transport below.
func (t fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type fenceKey struct{}

// fence closes when its term is over, or the lease was not renewed in time.
type fence struct {
	term  context.Context
	lock  *renewedLock
	valid time.Duration
}

func withFence(term context.Context, lock *renewedLock, valid time.Duration) context.Context {
	return context.WithValue(term, fenceKey{}, &fence{term, lock, valid})
}

// open compares both clocks: the monotonic one may stand still while the machine is suspended.
func (f *fence) open(now time.Time) bool {
	renewed := f.lock.renewed()
	return f.term.Err() == nil && now.Sub(renewed) < f.valid && now.Round(0).Sub(renewed.Round(0)) < f.valid
}

// renewedLock remembers when the last renewal was sent: others count from when the API server stored it.
type renewedLock struct {
	resourcelock.Interface
	at atomic.Pointer[time.Time]
}

func (l *renewedLock) renewed() time.Time {
	if at := l.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

func (l *renewedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(func() error { return l.Interface.Create(ctx, record) })
}

func (l *renewedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(func() error { return l.Interface.Update(ctx, record) })
}

func (l *renewedLock) note(write func() error) error {
	began := time.Now()
	err := write()
	if err == nil {
		l.at.Store(&began)
	}
	return err
}
