package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// firstPause follows the first write after a quiet time.
	firstPause = 2 * time.Second

	// maxPause bounds how long a status may be out of date while something changes all the time.
	maxPause = 30 * time.Second
)

// Pace bounds how often a status is written only to follow something: each write soon after another doubles the pause.
type Pace struct {
	Clock clock.PassiveClock

	mu     sync.Mutex
	writes map[types.NamespacedName]pacedWrite
}

type pacedWrite struct {
	at    time.Time
	pause time.Duration
}

// NewPace returns a Pace that knows no writes.
func NewPace(clock clock.PassiveClock) *Pace {
	return &Pace{Clock: clock, writes: map[types.NamespacedName]pacedWrite{}}
}

// Wait returns how long the next write has to wait.
func (p *Pace) Wait(object types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.writes[object]
	return max(0, last.pause-p.Clock.Since(last.at))
}

// Wrote starts a pause.
func (p *Pace) Wrote(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, last := p.Clock.Now(), p.writes[object]
	next := pacedWrite{at: now, pause: firstPause}
	if now.Sub(last.at) < 3*last.pause {
		next.pause = min(2*last.pause, maxPause)
	}
	p.writes[object] = next
}

// Forget drops what is known of an object that is gone.
func (p *Pace) Forget(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, object)
}
