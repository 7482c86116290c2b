package lead

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// unanswered is a lock whose writes are stored at once and answered late.
type unanswered struct {
	*replica
	late time.Duration
}

func (l *unanswered) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.replica.Update(ctx, record)
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	select {
	case <-time.After(late):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sending is what workers of leaders did. Each repeats its request, as a controller does with the reconciles of its queue.
type sending struct {
	mu      sync.Mutex
	by      []string // the leader of each request that was sent, without repetitions
	refused map[string]int
	lines   []string // of the log of "first"
}

const sendingWorkers = 20

func (s *sending) lead(name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		transport := Fence(sends(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.by = slices.Compact(append(s.by, name))
		}))
		var workers sync.WaitGroup
		for range sendingWorkers {
			workers.Go(func() {
				for ctx.Err() == nil {
					request, _ := http.NewRequestWithContext(ctx, http.MethodPatch, "http://example.com", nil)
					if _, err := transport.RoundTrip(request); err != nil && ctx.Err() == nil {
						s.mu.Lock()
						s.refused[name]++
						s.mu.Unlock()
					}
					time.Sleep(200 * time.Millisecond)
				}
			})
		}
		workers.Wait()
		return nil
	}
}

func (s *sending) awaitSender(name string) {
	for last := ""; last != name; {
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		if n := len(s.by); n > 0 {
			last = s.by[n-1]
		}
		s.mu.Unlock()
	}
}

type sends func()

func (f sends) RoundTrip(*http.Request) (*http.Response, error) { f(); return &http.Response{}, nil }

// TestLateRenewal: renewals are answered so late that the leader cannot know whether it still leads. Its workers wait: they are neither
// refused, again and again, nor do they send anything that another leader may contradict. The log has a line when this begins, and one when
// it ends, for all of them.
func TestLateRenewal(t *testing.T) {
	late, again, lost := "was not renewed in time", "is renewed", "has lost the lead"
	for name, tc := range map[string]struct {
		late  time.Duration // the answers
		then  func(*unanswered)
		stops bool // the second replica, when it leads, before the API server is back
		by    []string
		lines []string
	}{
		"slower than usual":                   {2 * time.Second, stillLate, false, []string{"first"}, nil},
		"one answer is late":                  {4700 * time.Millisecond, inTime, false, []string{"first"}, []string{late, again, late, again}},
		"one is late, and none more":          {3 * time.Second, unavailable, false, []string{"first", "second"}, []string{late, lost}},
		"another has led, and does no longer": {3 * time.Second, unavailable, true, []string{"first", "second", "first"}, []string{late, lost}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, s := newElection(t), &sending{refused: map[string]int{}}
				first := s.join(e, "first")
				time.Sleep(2 * time.Second)
				second := s.join(e, "second")
				time.Sleep(time.Minute + NewTiming(lease).Retry/2) // between two renewals
				first.set(func() { first.late = tc.late })
				time.Sleep(tc.late + NewTiming(lease).Retry) // one renewal has been answered
				first.set(func() { tc.then(first) })
				if tc.stops {
					s.awaitSender("second")
					second.finish(t)
				} else {
					time.Sleep(11 * time.Second)
				}
				first.set(func() { first.late, first.away = 0, false })
				time.Sleep(time.Minute)
				first.finish(t)
				if !tc.stops {
					second.finish(t)
				}
				if got := s.by[:min(len(s.by), len(tc.by))]; !slices.Equal(got, tc.by) || len(s.refused) > 0 {
					t.Errorf("requests were sent by %q, and refused: %v; want %q", got, s.refused, tc.by)
				}
				if got := s.lines; !slices.EqualFunc(got, tc.lines, strings.Contains) {
					t.Errorf("got the lines %q, want %q", got, tc.lines)
				}
			})
		})
	}
}

func stillLate(*unanswered)     {}
func inTime(r *unanswered)      { r.late = 0 }
func unavailable(r *unanswered) { r.away = true }

func (s *sending) join(e *election, name string) *unanswered {
	l := &unanswered{replica: &replica{name: name, lease: e.lease, ended: make(chan error, 1)}}
	l.Candidate = &Candidate{Lock: l, Timing: NewTiming(lease), Lead: s.lead(name)}
	ctx, stop := context.WithCancel(logr.NewContext(context.Background(), s.log(name)))
	l.stop = stop
	go func() { l.ended <- l.Start(ctx) }()
	return l
}

// log keeps what the first replica says of its term, apart from that it begins.
func (s *sending) log(name string) logr.Logger {
	return funcr.New(func(_, args string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if name == "first" && !strings.Contains(args, "this replica leads") && strings.Contains(args, "this replica") {
			s.lines = append(s.lines, args)
		}
	}, funcr.Options{})
}

// TestRequestsEndWhileTheyWait: a request that waits for the lease ends with its term, or with its own context.
func TestRequestsEndWhileTheyWait(t *testing.T) {
	for name, tc := range map[string]struct {
		ends func(term, request context.CancelFunc)
		want error
	}{
		"its term ends":    {func(term, _ context.CancelFunc) { term() }, errTermOver},
		"its context ends": {func(_, request context.CancelFunc) { request() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leading, term := context.WithCancel(t.Context())
				lock := &renewedLock{}
				_ = lock.note(resourcelock.LeaderElectionRecord{}, func() error { return nil })
				time.Sleep(time.Minute)
				ctx, request := context.WithCancel(context.WithoutCancel(withFence(leading, lock, time.Second)))
				below, ended := &transport{}, make(chan error)
				go func() {
					r, _ := http.NewRequestWithContext(ctx, http.MethodPatch, "http://example.com", nil)
					_, err := Fence(below).RoundTrip(r)
					ended <- err
				}()
				synctest.Wait()
				tc.ends(term, request)
				if err := <-ended; !errors.Is(err, tc.want) || below.sent > 0 {
					t.Errorf("got %v after %d requests were sent, want %v", err, below.sent, tc.want)
				}
				term()
				request()
			})
		})
	}
}

// TestLeaseOfAnother: the lease of a leader that works is deleted, or gets another holder. The leader sends nothing after it
// has seen that, which it does with its next renewal, and nothing again in this term.
func TestLeaseOfAnother(t *testing.T) {
	for name, change := range map[string]func(*storedLease){
		"deleted": func(l *storedLease) { l.record = nil },
		"overwritten": func(l *storedLease) {
			l.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 14,
				LeaderTransitions: l.record.LeaderTransitions}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, s := newElection(t), &sending{refused: map[string]int{}}
				first := s.join(e, "first")
				time.Sleep(time.Minute)
				e.lease.mu.Lock()
				e.lease.version++
				change(e.lease)
				e.lease.mu.Unlock()
				time.Sleep(2*NewTiming(lease).Retry + time.Second)
				s.mu.Lock()
				s.by = nil
				s.mu.Unlock()
				time.Sleep(NewTiming(lease).Renew - 2*NewTiming(lease).Retry - 2*time.Second)
				if s.mu.Lock(); len(s.by) > 0 || len(s.refused) > 0 {
					t.Errorf("it sends requests while another replica may lead, and refused: %v", s.refused)
				}
				s.mu.Unlock()
				s.awaitSender("first") // in a later term
				first.finish(t)
			})
		})
	}
}
