package pages

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
)

// paces bound how often the live pages of a team are rendered, however many there are: a page that is the same for all readers is
// rendered once for all, but there are as many different ones as queries.
type paces struct {
	perSecond int

	mu     sync.Mutex
	byTeam map[string]*pace // of those that somebody watches
}

type pace struct {
	*rate.Limiter
	watching int
}

func newPaces(perSecond int) *paces { return &paces{perSecond: perSecond, byTeam: map[string]*pace{}} }

// join returns a function that waits for the turn of a page of the team, and one to call at the end.
func (p *paces) join(team string) (wait func(context.Context) error, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.byTeam[team]
	if own == nil {
		own = &pace{Limiter: rate.NewLimiter(rate.Limit(p.perSecond), p.perSecond)}
		p.byTeam[team] = own
	}
	own.watching++
	return own.Wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if own.watching--; own.watching == 0 {
			delete(p.byTeam, team)
		}
	}
}
