package auth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

const (
	// probeInterval keeps all replicas below 1 request/s. Half is random: Date headers at other fractions of a second tell more.
	probeInterval = 5 * time.Second
	retryInterval = time.Second      // follows a failed probe, so that readiness returns as soon as the API server does
	probeTimeout  = 5 * time.Second  // allows more than one probe while a notification is held
	minLost       = 15 * time.Second // long enough for a failed probe and another one

	// If the clock is wrong, settledAfter probes follow each other at settlingInterval. Requests wait for them, at most maxSettling.
	settlingInterval = 130 * time.Millisecond
	settledAfter     = 8
	maxSettling      = 3 * time.Second

	notableOffset = 2 * time.Second // the offset, or the change of it, that is logged
)

// APIServerProbe records when the API server was last seen, and its clock. Informers cannot: they do not report that they lost their watch.
type APIServerProbe struct {
	// Ask sends a request that no cache answers, and returns the time in the answer, or zero if there is none.
	Ask func(context.Context) (time.Time, error)

	Clock clock.PassiveClock
	Log   logr.Logger

	mu       sync.Mutex
	started  time.Time
	lastSeen time.Time
	meter    skewMeter
	probes   int
	logged   time.Duration // the offset of the last log line
}

// Staleness is how long ago the API server was last seen; 0 before the first probe, because the caches were just filled.
func (p *APIServerProbe) Staleness() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lastSeen.IsZero() {
		return 0
	}
	return p.Clock.Since(p.lastSeen)
}

// Lost is a check for /readyz that fails once new notifications could not be held until the API server is back.
func (p *APIServerProbe) Lost(holdBudget time.Duration) func(*http.Request) error {
	return func(*http.Request) error {
		if stale := p.Staleness(); stale > max(holdBudget, minLost) {
			return fmt.Errorf("the API server was last seen %s ago", stale.Round(time.Second))
		}
		return nil
	}
}

// ClockAgrees fails only at /readyz/clock: a wrong clock is corrected, so it does not make the replica unready.
func (p *APIServerProbe) ClockAgrees(r *http.Request) error {
	offset := p.Offset()
	if path.Clean("/"+r.URL.Path) == "/" || offset.Abs() <= notableOffset {
		return nil
	}
	relation := "ahead of"
	if offset < 0 {
		relation = "behind"
	}
	return fmt.Errorf("the clock of this replica is %s %s the API server's", offset.Abs().Round(time.Second), relation)
}

// Offset is how far the clock is known to be ahead of the API server's.
func (p *APIServerProbe) Offset() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.meter.Offset()
}

// ServerTime converts a time of the clock to the API server's.
func (p *APIServerProbe) ServerTime(t time.Time) time.Time { return t.Add(-p.Offset()) }

// Measured reports whether the offset is as precise as it gets before requests are answered.
func (p *APIServerProbe) Measured() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.started.IsZero() && (p.settled() || p.Clock.Since(p.started) > maxSettling)
}

func (p *APIServerProbe) settled() bool {
	return p.probes >= settledAfter || (p.probes > 0 && p.meter.Offset() == 0)
}

// Register adds the metric.
func (p *APIServerProbe) Register(r prometheus.Registerer) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_clock_offset_seconds",
		Help: "Seconds by which the clock of this replica is known to be ahead of the API server's; 0 if they agree.",
	}, func() float64 { return p.Offset().Seconds() }))
}

// Start probes until ctx is done.
func (p *APIServerProbe) Start(ctx context.Context) error {
	p.mu.Lock()
	p.started = p.Clock.Now()
	p.lastSeen = p.started // the caches were just filled
	p.mu.Unlock()
	for {
		interval := p.interval(p.Probe(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// NeedLeaderElection is false: every replica answers requests.
func (p *APIServerProbe) NeedLeaderElection() bool { return false }

func (p *APIServerProbe) interval(err error) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		return retryInterval
	case !p.settled():
		return settlingInterval
	default:
		return probeInterval/2 + rand.N(probeInterval)
	}
}

// Probe sends one request. If it fails, Staleness grows and the offset stays.
func (p *APIServerProbe) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sent := p.Clock.Now()
	date, err := p.Ask(ctx)
	if err != nil {
		return err
	}
	p.observe(sent, p.Clock.Now(), date)
	return nil
}

func (p *APIServerProbe) observe(sent, received, date time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastSeen = received
	p.probes++
	if !date.IsZero() {
		p.meter.Observe(sent, received, date)
	}
	if p.settled() {
		p.report(p.meter.Offset())
	}
}

func (p *APIServerProbe) report(offset time.Duration) {
	wasNotable, isNotable := p.logged.Abs() > notableOffset, offset.Abs() > notableOffset
	switch {
	case isNotable && (!wasNotable || (offset-p.logged).Abs() > notableOffset):
		p.Log.Info("the clock of this replica differs from the API server's; times of notifications are corrected, but set the clock of the node",
			"secondsAhead", offset.Seconds())
		p.logged = offset
	case wasNotable && !isNotable:
		p.Log.Info("the clock of this replica agrees with the API server's again", "secondsAhead", offset.Seconds())
		p.logged = 0
	}
}
