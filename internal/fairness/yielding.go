package fairness

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// othersFor is how long after its last call a team counts: a team that sends one request after another has pauses between them.
	othersFor = time.Second

	// longestYield bounds how long a call waits. If the calls in use hang, the others must not hang with them.
	longestYield = 5 * time.Second
)

// YieldingLimiter bounds how much a team does at once while other teams do the same: whatever they share is then as fast for a team with
// one call as the bound allows. A team alone is not bounded. Calls wait in order of arrival, and are never refused.
type YieldingLimiter struct {
	perTeam int

	mu              sync.Mutex
	teams           map[string]*yieldingTeam // without those that do nothing
	last, lastOther call                     // the latest call, and the latest call of another team
}

type yieldingTeam struct {
	inUse   int
	waiting []chan struct{} // of calls, which are closed to let them through
}

type call struct {
	team string
	at   time.Time
}

// NewYieldingLimiter returns a limiter of so many calls of a team at once.
func NewYieldingLimiter(perTeam int) *YieldingLimiter {
	return &YieldingLimiter{perTeam: perTeam, teams: map[string]*yieldingTeam{}}
}

// Acquire waits until the team may do more, the context is done, or longestYield has passed. The caller must call release, once.
func (l *YieldingLimiter) Acquire(ctx context.Context, team string) (release func()) {
	if turn := l.enter(team); turn != nil {
		ctx, cancel := context.WithTimeout(ctx, longestYield)
		defer cancel()
		select {
		case <-turn:
		case <-ctx.Done():
			l.stopWaiting(team, turn)
		}
	}
	return func() { l.leave(team) }
}

// enter returns what to wait for; nil: nothing.
func (l *YieldingLimiter) enter(team string) (turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.team != team {
		l.lastOther = l.last
	}
	l.last = call{team, time.Now()}
	own := l.teams[team]
	if own == nil {
		own = &yieldingTeam{}
		l.teams[team] = own
	}
	if len(own.waiting) == 0 && (own.inUse < l.perTeam || !l.shared(team)) {
		own.inUse++
		return nil
	}
	turn = make(chan struct{})
	own.waiting = append(own.waiting, turn)
	l.letThrough(team, own)
	return turn
}

// shared reports whether another team has called lately.
func (l *YieldingLimiter) shared(team string) bool {
	other := l.lastOther
	if l.last.team != team {
		other = l.last
	}
	return !other.at.IsZero() && time.Since(other.at) < othersFor
}

// stopWaiting lets a call through if it still waits.
func (l *YieldingLimiter) stopWaiting(team string, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.teams[team]
	if i := slices.Index(own.waiting, turn); i >= 0 {
		own.waiting = slices.Delete(own.waiting, i, i+1)
		own.inUse++
	}
}

func (l *YieldingLimiter) leave(team string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.teams[team]
	own.inUse--
	l.letThrough(team, own)
	if own.inUse == 0 {
		delete(l.teams, team)
	}
}

// letThrough ends the waits of two calls that may go on, the oldest first. If all went on at once, the next call of another team would come
// after hundreds.
func (l *YieldingLimiter) letThrough(team string, own *yieldingTeam) {
	for range min(2, len(own.waiting)) {
		if own.inUse >= l.perTeam && l.shared(team) {
			return
		}
		close(own.waiting[0])
		own.waiting = own.waiting[1:]
		own.inUse++
	}
}
