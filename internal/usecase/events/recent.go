package events

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/fairness"
)

const (
	recentFor            = 5 * time.Minute // how long equal events of a sender without delivery ids are dropped
	maxRecent            = 10_000          // keys that are remembered: 33 events a second
	maxRecentOfNamespace = maxRecent / 2
)

// recent remembers the keys of events of the last minutes, in one replica. Losing it can repeat only what the Trigger lets repeat.
type recent struct {
	clock clock.PassiveClock
	until *fairness.Cache[string, time.Time]
}

func newRecent(clock clock.PassiveClock) *recent {
	return &recent{clock: clock, until: fairness.NewCache[string, time.Time](maxRecent, maxRecentOfNamespace)}
}

func (r *recent) has(namespace, key string) bool {
	until, known := r.until.Get(namespace, key)
	return known && r.clock.Now().Before(until)
}

// add remembers an event that was taken. One that failed may come again. Events without a key are not remembered.
func (r *recent) add(namespace, key string) {
	if key != "" {
		r.until.Add(namespace, key, r.clock.Now().Add(recentFor))
	}
}
