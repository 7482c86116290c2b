package fairness

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Semaphore bounds concurrent computation: callers wait in order of arrival, but only perTeam of a team compete with other teams.
type Semaphore struct {
	all     *semaphore.Weighted
	perTeam int64

	mu    sync.Mutex
	teams map[string]*teamSemaphore // without the teams that have no caller
}

type teamSemaphore struct {
	*semaphore.Weighted
	callers int // that wait or compute
}

// NewSemaphore returns a semaphore that lets size callers through at the same time. One team cannot take the last place.
func NewSemaphore(size int) *Semaphore { return NewSharedSemaphore(size, max(1, size-1)) }

// NewSharedSemaphore returns a semaphore that lets size callers through at the same time, and so many of one team.
func NewSharedSemaphore(size, perTeam int) *Semaphore {
	return &Semaphore{all: semaphore.NewWeighted(int64(size)), perTeam: int64(perTeam), teams: map[string]*teamSemaphore{}}
}

// Acquire waits until the context is done. The caller must call release, once.
func (s *Semaphore) Acquire(ctx context.Context, team string) (release func(), err error) {
	own := s.enter(team)
	if err := own.Acquire(ctx, 1); err != nil {
		s.leave(team, own)
		return nil, err
	}
	if err := s.all.Acquire(ctx, 1); err != nil {
		own.Release(1)
		s.leave(team, own)
		return nil, err
	}
	return func() {
		s.all.Release(1)
		own.Release(1)
		s.leave(team, own)
	}, nil
}

func (s *Semaphore) enter(team string) *teamSemaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.teams[team]
	if own == nil {
		own = &teamSemaphore{Weighted: semaphore.NewWeighted(s.perTeam)}
		s.teams[team] = own
	}
	own.callers++
	return own
}

func (s *Semaphore) leave(team string, own *teamSemaphore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.callers--; own.callers == 0 {
		delete(s.teams, team)
	}
}
