package auth

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// probeEvery keeps the load of all replicas below a request per second, and is short against
	// DefaultMaxStale.
	probeEvery = 20 * time.Second

	probeTimeout = 10 * time.Second
)

// Contact remembers when the API server was last seen. It is a Runnable of every replica. Informers
// serve their caches without end, and do not tell when they lost their watch; this does.
type Contact struct {
	// Probe asks the API server anything that no cache answers.
	Probe func(context.Context) error

	// Now is the clock; time.Now where it is nil.
	Now func() time.Time

	lastSeen atomic.Pointer[time.Time]
}

// Since is how long ago the API server was last seen; 0 before the first probe, which comes after
// the caches were filled.
func (c *Contact) Since() time.Duration {
	if seen := c.lastSeen.Load(); seen != nil {
		return c.now().Sub(*seen)
	}
	return 0
}

// Seen records that the API server answered just now.
func (c *Contact) Seen() {
	now := c.now()
	c.lastSeen.Store(&now)
}

// Start probes until ctx is done.
func (c *Contact) Start(ctx context.Context) error {
	c.Seen() // the caches were filled a moment ago
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			c.probe(ctx)
		}
	}
}

// NeedLeaderElection is false: every replica answers requests.
func (c *Contact) NeedLeaderElection() bool { return false }

func (c *Contact) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if c.Probe(ctx) == nil { // a failure needs no report: Since grows
		c.Seen()
	}
}

func (c *Contact) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
