package report

import (
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Budgets are in memory. A new leader starts with empty ones, until the host says that its limit is reached.
type Budgets struct {
	mu    sync.Mutex
	byKey map[string]*Budget
}

// Of returns the Budget of a key. A new key evicts Budgets that have been idle for budgetKept.
func (b *Budgets) Of(key string, limits Limits, now time.Time) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if budget := b.byKey[key]; budget != nil {
		return budget
	}
	for other, budget := range b.byKey {
		if budget.idleSince(now.Add(-budgetKept)) {
			delete(b.byKey, other)
		}
	}
	if b.byKey == nil {
		b.byKey = map[string]*Budget{}
	}
	b.byKey[key] = &Budget{limits: limits, used: now}
	return b.byKey[key]
}

// Budget bounds what one credential writes on one host, in any minute and in any hour.
type Budget struct {
	limits Limits

	mu       sync.Mutex
	writes   []time.Time // of the last hour, oldest first
	inFlight int
	failures int       // in a row
	blocked  time.Time // until then, nothing is sent
	used     time.Time
}

// Take allows a write if less than share percent of the budget are used, or returns how long to wait. Call Done after an allowed write, or
// Return.
func (b *Budget) Take(share int, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := b.wait(share, now); wait > 0 {
		return wait
	}
	b.inFlight++
	b.writes = append(b.writes, now)
	return 0
}

// Wait returns what Take would return.
func (b *Budget) Wait(share int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait(share, now)
}

func (b *Budget) wait(share int, now time.Time) time.Duration {
	b.used = now
	for len(b.writes) > 0 && now.Sub(b.writes[0]) >= time.Hour {
		b.writes = b.writes[1:]
	}
	wait := max(b.blocked.Sub(now),
		b.room(max(1, share*b.limits.PerMinute/100), time.Minute, now),
		b.room(max(1, share*b.limits.PerHour/100), time.Hour, now))
	switch {
	case wait > 0:
		return wait
	case b.inFlight >= b.limits.InFlight || b.failures > 0 && b.inFlight > 0:
		return busyRetry
	default:
		return 0
	}
}

func (b *Budget) room(allowed int, window time.Duration, now time.Time) time.Duration {
	if len(b.writes) < allowed {
		return 0
	}
	return b.writes[len(b.writes)-allowed].Add(window).Sub(now)
}

// Done ends a write. While a host is unavailable, one write at a time tries it, with growing pauses.
func (b *Budget) Done(failure *Error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	if failure == nil || failure.Kind == Rejected || failure.Kind == Conflict || failure.Kind == NotPending {
		b.failures = 0
		return
	}
	block := max(failure.RetryAfter, min(blockMax, blockMin<<min(b.failures, 10)))
	b.failures++
	if until := now.Add(block); until.After(b.blocked) {
		b.blocked = until
	}
}

// Return ends an allowed write that was not needed, or did not reach the host: it says nothing about it, and costs nothing.
func (b *Budget) Return() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	b.writes = b.writes[:max(0, len(b.writes)-1)]
}

// Share is the part of a credential's budget, in percent, up to which something is written about a run. It leaves room for outcomes
// of checks, which are more useful than comments; deployments are left out first. Deployments wait for approvals, which are of no run.
func Share(p Purpose, s *v1alpha1.Suite) int {
	if p == Approvals {
		return 100
	}
	phase, ended := PhaseOf(s), s.Finished()
	switch {
	case p == Deployments && !ended:
		return 15
	case p == Deployments:
		return 20
	case p == Comments && !ended:
		return 30
	case p == Comments:
		return 60
	case phase == v1alpha1.ReportQueued:
		return 25
	case phase == v1alpha1.ReportInProgress:
		return 50
	case state.Of(s.State()).NoVerdict:
		return 75
	default:
		return 100
	}
}

func (b *Budget) idleSince(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used.Before(t) && b.inFlight == 0
}
