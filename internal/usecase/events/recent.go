package events

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	recentFor = 5 * time.Minute // how long equal events of a sender without delivery ids are dropped
	maxRecent = 10_000          // keys that are remembered: 33 events a second
)

// recent remembers the keys of events of the last minutes, in one replica. Losing it can repeat only what the Trigger lets repeat.
type recent struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
}

func newRecent(clock clock.PassiveClock) *recent {
	return &recent{clock: clock, until: map[string]time.Time{}}
}

func (r *recent) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return key != "" && r.clock.Now().Before(r.until[key])
}

// add remembers an event that was taken. One that failed may come again.
func (r *recent) add(key string) {
	if key == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if len(r.until) >= maxRecent {
		for k, until := range r.until {
			if !now.Before(until) {
				delete(r.until, k)
			}
		}
	}
	if len(r.until) < maxRecent {
		r.until[key] = now.Add(recentFor)
	}
}
