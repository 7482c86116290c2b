package endpoint

import (
	"context"
	"sync"
)

// turns bounds how much is computed at once. Who comes waits for its turn, in the order of arrival. Of
// each team only as many wait for the processors as leave one to others; the rest wait behind them, so
// that a team that asks for much waits for itself.
type turns struct {
	processors chan struct{}
	perTeam    int

	mu    sync.Mutex
	teams map[string]*queue
}

// queue is that of one team; it is there as long as somebody uses it.
type queue struct {
	slots chan struct{}
	users int
}

func newTurns(processors int) *turns {
	return &turns{processors: make(chan struct{}, processors), perTeam: max(1, processors-1), teams: map[string]*queue{}}
}

// take waits for a turn of the team, until the context is done, and returns what ends the turn.
func (t *turns) take(ctx context.Context, team string) (end func(), err error) {
	own := t.join(team)
	if err := enter(ctx, own.slots); err != nil {
		t.part(team, own)
		return nil, err
	}
	if err := enter(ctx, t.processors); err != nil {
		<-own.slots
		t.part(team, own)
		return nil, err
	}
	return func() {
		<-t.processors
		<-own.slots
		t.part(team, own)
	}, nil
}

func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turns) join(team string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.teams[team]
	if q == nil {
		q = &queue{slots: make(chan struct{}, t.perTeam)}
		t.teams[team] = q
	}
	q.users++
	return q
}

func (t *turns) part(team string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.teams, team)
	}
}
