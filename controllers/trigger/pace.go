package trigger

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// countDelay is how late a Trigger's status counts its runs, so that those of a burst are counted together.
	countDelay = 2 * time.Second

	// maxCountInterval bounds how long counts may be out of date while runs come and go all the time.
	maxCountInterval = 30 * time.Second
)

// countPace bounds how often a status is written only to count runs: each write soon after another doubles the pause.
type countPace struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	writes map[types.NamespacedName]countWrite
}

type countWrite struct {
	at    time.Time
	pause time.Duration
}

func newCountPace(clock clock.PassiveClock) *countPace {
	return &countPace{clock: clock, writes: map[types.NamespacedName]countWrite{}}
}

func (p *countPace) wait(trigger types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.writes[trigger]
	return max(0, last.pause-p.clock.Since(last.at))
}

func (p *countPace) wrote(trigger types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, last := p.clock.Now(), p.writes[trigger]
	next := countWrite{at: now, pause: countDelay}
	if now.Sub(last.at) < 3*last.pause {
		next.pause = min(2*last.pause, maxCountInterval)
	}
	p.writes[trigger] = next
}

func (p *countPace) forget(trigger types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, trigger)
}
