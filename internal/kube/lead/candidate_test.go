package lead

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const lease = 6 * time.Second

// lease is what the API server stores of it.
type storedLease struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
}

// replica is a process that stands for election, with its connection to the API server.
type replica struct {
	*Candidate
	name  string
	lease *storedLease
	seen  int // the version that it read or wrote last

	mu    sync.Mutex
	away  bool // the API server
	slow  time.Duration
	stop  context.CancelFunc
	ended chan error
}

func (r *replica) Identity() string   { return r.name }
func (r *replica) Describe() string   { return "lease" }
func (r *replica) RecordEvent(string) {}

func (r *replica) connect(ctx context.Context) error {
	r.mu.Lock()
	away, slow := r.away, r.slow
	r.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if away {
		return errors.New("connection refused")
	}
	return ctx.Err()
}

func (r *replica) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *replica) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := r.connect(ctx); err != nil {
		return nil, nil, err
	}
	r.lease.mu.Lock()
	defer r.lease.mu.Unlock()
	if r.lease.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "postflight")
	}
	r.seen = r.lease.version
	record := *r.lease.record
	return &record, fmt.Appendf(nil, "%d", r.seen), nil
}

func (r *replica) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	r.lease.mu.Lock()
	if r.lease.record == nil {
		r.seen = r.lease.version
	}
	r.lease.mu.Unlock()
	return r.Update(ctx, record)
}

func (r *replica) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	r.lease.mu.Lock()
	defer r.lease.mu.Unlock()
	if r.seen != r.lease.version {
		return errors.New("conflict")
	}
	r.lease.version++
	r.lease.record, r.seen = &record, r.lease.version
	return nil
}

// election has the replicas, and what they did as leaders.
type election struct {
	t        *testing.T
	lease    *storedLease
	mu       sync.Mutex
	leader   string
	terms    int
	windDown time.Duration // how long a term takes to stop
	fails    error         // what a term returns at once
}

func newElection(t *testing.T) *election { return &election{t: t, lease: &storedLease{}} }

func (e *election) join(name string) *replica {
	r := &replica{name: name, lease: e.lease, ended: make(chan error, 1)}
	r.Candidate = &Candidate{Lock: r, Timing: NewTiming(lease), Lead: func(ctx context.Context) error { return e.lead(ctx, name) }}
	ctx, stop := context.WithCancel(logr.NewContext(context.Background(), logr.Discard()))
	r.stop = stop
	go func() { r.ended <- r.Start(ctx) }()
	return r
}

func (e *election) lead(ctx context.Context, name string) error {
	e.mu.Lock()
	if e.leader != "" {
		e.t.Errorf("%s leads while %s still does", name, e.leader)
	}
	e.leader, e.terms = name, e.terms+1
	e.mu.Unlock()
	if e.fails == nil {
		<-ctx.Done()
		time.Sleep(e.windDown)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leader = ""
	return e.fails
}

// await returns how long it took until the replica leads; "": until no replica does.
func (e *election) await(name string) time.Duration {
	e.t.Helper()
	began := time.Now()
	for now, _ := e.now(); now != name; now, _ = e.now() {
		if time.Since(began) > time.Hour {
			e.t.Fatalf("%q does not lead, but %q", name, now)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (e *election) now() (leader string, terms int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leader, e.terms
}

func (r *replica) finish(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("%s ended: %v", r.name, err)
	}
}

// TestKilledLeaderIsReplaced within 9 s, whenever it is killed, and never before its work has stopped.
func TestKilledLeaderIsReplaced(t *testing.T) {
	slowest := time.Duration(0)
	for round := range 50 {
		synctest.Test(t, func(t *testing.T) {
			e := newElection(t)
			first := e.join("first")
			e.await("first")
			second := e.join("second")
			time.Sleep(time.Duration(round) * 300 * time.Millisecond)
			first.set(func() { first.away = true }) // as if its machine lost its network
			slowest = max(slowest, e.await("second"))
			first.set(func() { first.away = false })
			time.Sleep(time.Minute)
			if leader, terms := e.now(); leader != "second" || terms != 2 {
				t.Errorf("after %d terms, %q leads", terms, leader)
			}
			first.finish(t)
			second.finish(t)
		})
	}
	t.Logf("REPLACED lease=%s rounds=50 slowest_seconds=%.1f", lease, slowest.Seconds())
	if slowest > 9*time.Second {
		t.Errorf("it took %s", slowest)
	}
}

// TestStoppedLeaderIsReplaced at once, but not before its work has stopped.
func TestStoppedLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		e.windDown = 3 * time.Second
		first := e.join("first")
		e.await("first")
		second := e.join("second")
		time.Sleep(time.Minute)
		first.finish(t)
		if took := e.await("second"); took > 3*time.Second {
			t.Errorf("the second replica leads %s after the end of the first", took)
		}
		second.finish(t)
	})
}

// TestAPIServerAway: the lead is kept, or lost and won again by the same process, which does not end.
func TestAPIServerAway(t *testing.T) {
	for name, tc := range map[string]struct {
		fault func(*replica)
		lasts time.Duration
		terms int
	}{
		"away for a moment": {func(r *replica) { r.away = true }, 4 * time.Second, 1},
		"away for long":     {func(r *replica) { r.away = true }, 30 * time.Second, 2},
		"away for an hour":  {func(r *replica) { r.away = true }, time.Hour, 2},
		"slow":              {func(r *replica) { r.slow = 2 * time.Second }, time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newElection(t)
				r := e.join("only")
				e.await("only")
				time.Sleep(time.Minute)
				r.set(func() { tc.fault(r) })
				time.Sleep(tc.lasts)
				r.set(func() { r.away, r.slow = false, 0 })
				time.Sleep(5 * time.Second)
				if leader, terms := e.now(); leader != "only" || terms != tc.terms {
					t.Errorf("%q leads after %d terms, want %d", leader, terms, tc.terms)
				}
				r.finish(t)
			})
		})
	}
}

// TestTermEndsBeforeTheLease: the last renewal is stored at once, and answered as late as the leader waits for an answer. The elector would
// end the term after the lease has expired, because it counts from the answer.
func TestTermEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, timing := newElection(t), NewTiming(lease)
		first := &unanswered{replica: &replica{name: "first", lease: e.lease, ended: make(chan error, 1)}}
		first.Candidate = &Candidate{Lock: first, Timing: timing, Lead: func(ctx context.Context) error { return e.lead(ctx, "first") }}
		ctx, stop := context.WithCancel(logr.NewContext(context.Background(), logr.Discard()))
		first.stop = stop
		go func() { first.ended <- first.Start(ctx) }()
		e.await("first")
		time.Sleep(time.Minute + timing.Retry/2)
		began := time.Now()
		first.set(func() { first.late = timing.Renew - 2*timing.Retry })
		time.Sleep(timing.Retry) // the renewal is stored
		first.set(func() { first.away = true })
		e.await("")
		if took := time.Since(began); took > lease {
			t.Errorf("the term ended %s after the last renewal, and the lease is %s", took, lease)
		}
		first.finish(t)
	})
}

func TestTermFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		e.fails = errors.New("no such kind")
		r := e.join("first")
		if err := <-r.ended; !errors.Is(err, e.fails) {
			t.Errorf("got %v, want %v", err, e.fails)
		}
		if holder := e.lease.record.HolderIdentity; holder != "" {
			t.Errorf("%s still holds the lease", holder)
		}
	})
}

func TestTermDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		e.windDown = time.Hour
		r := e.join("first")
		e.await("first")
		r.set(func() { r.away = true })
		time.Sleep(lease) // the lead is lost, and its work goes on
		r.set(func() { r.away = false })
		if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "did not stop within 30s") {
			t.Errorf("got %v", err)
		}
		if holder := e.lease.record.HolderIdentity; holder != "first" {
			t.Errorf("the lease was given to %q while the work went on", holder)
		}
		time.Sleep(time.Hour)
	})
}

func TestNoElection(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	led := false
	c := &Candidate{Lead: func(ctx context.Context) error { led = ctx.Err() != nil; return nil }}
	if err := c.Start(ctx); err != nil || !led {
		t.Errorf("got %v, led=%t", err, led)
	}
}

func TestTimingValidate(t *testing.T) {
	for lease, valid := range map[time.Duration]bool{
		0: false, 2 * time.Second: false, 3 * time.Second: true, 14 * time.Second: true, 3500 * time.Millisecond: false,
		5 * time.Minute: true, 6 * time.Minute: false,
	} {
		if err := NewTiming(lease).Validate(); (err == nil) != valid {
			t.Errorf("%s: %v, want valid=%t", lease, err, valid)
		}
	}
}
