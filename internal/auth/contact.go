package auth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/skew"
)

const (
	// probeEvery keeps the load of all replicas below a request per second, and is short against the time
	// for which a notification is held. It is random by half, so that the Date headers of the answers,
	// which are cut to the second, tell more together than each alone.
	probeEvery = 5 * time.Second

	// probeAgain follows a probe that failed: readiness comes back as soon as the API server does.
	probeAgain = time.Second

	// probeTimeout leaves time for more than one probe within the time for which a notification is held.
	probeTimeout = 5 * time.Second

	// minLost is long enough for a probe that failed and another.
	minLost = 15 * time.Second

	// Where the first probe shows the clock to be wrong, soonProbes in all follow each other by probeSoon.
	// Requests are answered after them, or after firstProbes.
	probeSoon   = 130 * time.Millisecond
	soonProbes  = 8
	firstProbes = 3 * time.Second

	// notable is a clock's offset that people should know of, and a change of it.
	notable = 2 * time.Second
)

// Contact remembers when the API server was last seen, and how far the clock is from the API server's. It
// is a Runnable of every replica. Informers serve their caches without end, and do not tell when they lost
// their watch; this does.
type Contact struct {
	// Probe asks the API server anything that no cache answers, and returns the time in the answer, zero
	// where there is none.
	Probe func(context.Context) (time.Time, error)

	// Now is the clock; time.Now where it is nil.
	Now func() time.Time

	// Log is for operators.
	Log logr.Logger

	mu       sync.Mutex
	started  time.Time
	lastSeen time.Time
	meter    skew.Meter
	probes   int
	logged   time.Duration // the offset of the last log line
}

// Since is how long ago the API server was last seen; 0 before the first probe, which comes after
// the caches were filled.
func (c *Contact) Since() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastSeen.IsZero() {
		return 0
	}
	return c.now().Sub(c.lastSeen)
}

// Lost is a check for /readyz: it fails once the API server was away for longer than a notification can be
// held, since all that come now would be held for nothing.
func (c *Contact) Lost(holdBudget time.Duration) func(*http.Request) error {
	return func(*http.Request) error {
		if since := c.Since(); since > max(holdBudget, minLost) {
			return fmt.Errorf("the API server was last seen %s ago", since.Round(time.Second))
		}
		return nil
	}
}

// Offset is what is known of how far the clock is ahead of the API server's.
func (c *Contact) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meter.Offset()
}

// ServerTime is the API server's time at a time of the clock.
func (c *Contact) ServerTime(t time.Time) time.Time { return t.Add(-c.Offset()) }

// Measured reports whether the offset is known as well as it can be before requests are answered.
func (c *Contact) Measured() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.started.IsZero() && (c.settled() || c.now().Sub(c.started) > firstProbes)
}

// settled reports whether more probes would tell little: the clocks agree, or were compared often.
func (c *Contact) settled() bool {
	return c.probes >= soonProbes || (c.probes > 0 && c.meter.Offset() == 0)
}

// Register adds the metric.
func (c *Contact) Register(r prometheus.Registerer) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_clock_offset_seconds",
		Help: "Seconds by which the clock of this replica is ahead of the API server's, as far as is known; 0 where they agree.",
	}, func() float64 { return c.Offset().Seconds() }))
}

// Start probes until ctx is done.
func (c *Contact) Start(ctx context.Context) error {
	c.mu.Lock()
	c.started = c.now()
	c.lastSeen = c.started // the caches were filled a moment ago
	c.mu.Unlock()
	for {
		pause := c.pause(c.probe(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Measure compares the clocks once, before Start does so again and again. Where the API server does not
// answer, they are taken to agree.
func (c *Contact) Measure(ctx context.Context) { _ = c.probe(ctx) }

// NeedLeaderElection is false: every replica answers requests.
func (c *Contact) NeedLeaderElection() bool { return false }

func (c *Contact) pause(err error) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		return probeAgain
	case !c.settled():
		return probeSoon
	default:
		return probeEvery/2 + rand.N(probeEvery)
	}
}

// probe asks once. Its error says only that it is worth asking again soon: that the API server is away shows
// in Since.
func (c *Contact) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sent := c.now()
	date, err := c.Probe(ctx)
	if err != nil {
		return err
	}
	c.seen(sent, c.now(), date)
	return nil
}

func (c *Contact) seen(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSeen = received
	c.probes++
	if !date.IsZero() {
		c.meter.Observe(sent, received, date)
	}
	if c.settled() {
		c.report(c.meter.Offset())
	}
}

// report says once that the clock is wrong, and again when that changes.
func (c *Contact) report(offset time.Duration) {
	wasNotable, isNotable := c.logged.Abs() > notable, offset.Abs() > notable
	switch {
	case isNotable && (!wasNotable || (offset-c.logged).Abs() > notable):
		c.Log.Info("the clock of this replica differs from the API server's; times of notifications are corrected, but set the clock of the node",
			"secondsAhead", offset.Seconds())
		c.logged = offset
	case wasNotable && !isNotable:
		c.Log.Info("the clock of this replica agrees with the API server's again", "secondsAhead", offset.Seconds())
		c.logged = 0
	}
}

func (c *Contact) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
