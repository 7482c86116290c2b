package live

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
)

// Paces bound how often the live pages of a team are rendered: there are as many different ones as queries.
type Paces struct {
	perSecond int

	mu     sync.Mutex
	byTeam map[string]*pace // only teams that are watched
}

type pace struct {
	*rate.Limiter
	watching int
}

// NewPaces returns bounds of so many renderings per second and team.
func NewPaces(perSecond int) *Paces { return &Paces{perSecond: perSecond, byTeam: map[string]*pace{}} }

// Join returns a function that waits until a page of the team may be rendered, and one to call at the end.
func (p *Paces) Join(team string) (wait func(context.Context) error, leave func()) {
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
