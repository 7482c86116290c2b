package endpoint

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// share is how much a team may take of what is bounded, as a multiple of what is still free. At 8, a
// team that is alone gets 8/9, and another always finds room; who has nothing yet is turned away only
// where nothing is free. It needs no configuration, and leaves little unused.
const share = 8

// gate bounds how many are inside, and how many of one team. Who finds it full is turned away at
// once: to queue would only make the clients' time-outs do the turning away.
type gate struct {
	size   int
	inside prometheus.Gauge

	mu    sync.Mutex
	taken int
	of    map[string]int // by team; who has nothing inside is not there
}

func newGate(size int, inside prometheus.Gauge) *gate {
	return &gate{size: size, inside: inside, of: map[string]int{}}
}

// enter is false where the team, or all of them, have as many inside as they may.
func (g *gate) enter(team string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[team] >= share*(g.size-g.taken) {
		return false
	}
	g.of[team]++
	g.taken++
	g.inside.Inc()
	return true
}

func (g *gate) leave(team string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken--
	g.inside.Dec()
	if g.of[team]--; g.of[team] == 0 {
		delete(g.of, team)
	}
}
