// Package fairness shares a process's capacity among teams: TeamLimiter refuses what is too much, Semaphore makes it wait, YieldingLimiter
// does so only while others need it, and Cache forgets it.
package fairness

import "sync"

// share is a team's limit as a multiple of what is free: at 8, a lone team gets 8/9; one without slots is refused only if none is free.
const share = 8

// TeamLimiter bounds the slots in use, by all teams and by each. It never waits: clients in a queue would time out and retry.
type TeamLimiter struct {
	size int

	mu     sync.Mutex
	inUse  int
	byTeam map[string]int // without the teams that have no slot
}

// NewTeamLimiter returns a limiter of so many slots.
func NewTeamLimiter(size int) *TeamLimiter {
	return &TeamLimiter{size: size, byTeam: map[string]int{}}
}

// TryAcquire takes a slot, and reports whether there was one for the team.
func (l *TeamLimiter) TryAcquire(team string) bool { return l.TryAcquireN(team, 1) }

// TryAcquireN takes n slots or none.
func (l *TeamLimiter) TryAcquireN(team string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byTeam[team]+n > share*(l.size-l.inUse-n+1) {
		return false
	}
	l.byTeam[team] += n
	l.inUse += n
	return true
}

// Release gives back a slot of the team.
func (l *TeamLimiter) Release(team string) { l.ReleaseN(team, 1) }

// ReleaseN gives back n slots of the team.
func (l *TeamLimiter) ReleaseN(team string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse -= n
	if l.byTeam[team] -= n; l.byTeam[team] == 0 {
		delete(l.byTeam, team)
	}
}

// InUse is how many slots are taken.
func (l *TeamLimiter) InUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inUse
}
