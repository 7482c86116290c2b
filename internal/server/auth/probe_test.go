package auth

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

// probed is an APIServerProbe with a clock and an API server that the test controls.
type probed struct {
	*APIServerProbe
	now  time.Time     // of the API server
	ours time.Duration // by how much this clock is ahead
	err  error
	log  []string
}

func newProbed() *probed {
	c := &probed{now: noon}
	c.APIServerProbe = &APIServerProbe{
		Ask:   func(context.Context) (time.Time, error) { return c.now.Truncate(time.Second), c.err },
		Clock: c,
		Log:   funcr.New(func(_, line string) { c.log = append(c.log, line) }, funcr.Options{}),
	}
	return c
}

// Now is the time of this replica's clock.
func (c *probed) Now() time.Time { return c.now.Add(c.ours) }

// Since is the time that has passed by this replica's clock.
func (c *probed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// probes are a second and a bit apart, so that their Date headers are cut differently.
func (c *probed) probes(t *testing.T, n int) {
	for range n {
		c.now = c.now.Add(1130 * time.Millisecond)
		_ = c.Probe(t.Context())
	}
}

func TestStaleness(t *testing.T) {
	c := newProbed()
	if since := c.Staleness(); since != 0 {
		t.Errorf("before the start %s, want 0", since)
	}
	_ = c.Probe(t.Context())
	c.now, c.err = c.now.Add(time.Minute), errors.New("refused")
	_ = c.Probe(t.Context())
	if since := c.Staleness(); since != time.Minute {
		t.Errorf("after a probe that failed %s, want 1m", since)
	}
	c.err = nil
	_ = c.Probe(t.Context())
	if since := c.Staleness(); since != 0 {
		t.Errorf("after a probe that succeeded %s, want 0", since)
	}
}

// TestLost: the replica is not ready once a new notification would time out, and ready again with the next answer.
func TestLost(t *testing.T) {
	c := newProbed()
	_ = c.Probe(t.Context())
	cases := []struct {
		away, budget time.Duration
		lost         bool
	}{
		{45 * time.Second, 45 * time.Second, false},
		{46 * time.Second, 45 * time.Second, true},
		{10 * time.Second, time.Second, false}, // otherwise, one failed probe would be enough
		{16 * time.Second, time.Second, true},
	}
	for _, tc := range cases {
		seen := c.now
		c.now = seen.Add(tc.away)
		if err := c.Lost(tc.budget)(nil); (err != nil) != tc.lost {
			t.Errorf("away for %s, held for %s: %v, want lost: %t", tc.away, tc.budget, err, tc.lost)
		}
		c.now = seen
	}
	c.now = c.now.Add(time.Hour)
	_ = c.Probe(t.Context())
	if err := c.Lost(45 * time.Second)(nil); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}

// TestProbesOftenWhileAway: readiness comes back within two seconds of the API server.
func TestProbesOftenWhileAway(t *testing.T) {
	c := newProbed()
	if interval := c.interval(c.Probe(t.Context())); interval < probeInterval/2 || interval > 2*probeInterval {
		t.Errorf("%s between probes that succeed", interval)
	}
	c.err = errors.New("refused")
	if interval := c.interval(c.Probe(t.Context())); interval > retryInterval {
		t.Errorf("%s after a probe that failed", interval)
	}
}

func TestClockOffset(t *testing.T) {
	for name, offset := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour, "agreed": 0} {
		t.Run(name, func(t *testing.T) {
			c := newProbed()
			c.ours = offset
			c.probes(t, 20)
			if miss := (c.Offset() - offset).Abs(); miss > 200*time.Millisecond {
				t.Errorf("offset %s, want %s", c.Offset(), offset)
			}
			if miss := c.ServerTime(c.Now()).Sub(c.now).Abs(); miss > 200*time.Millisecond {
				t.Errorf("the API server's time is missed by %s", miss)
			}
		})
	}
}

// TestMeasuredBeforeServing: one answer is enough if the clocks agree. If they do not, several are needed, for a
// limited time.
func TestMeasuredBeforeServing(t *testing.T) {
	agreed, wrong, away := newProbed(), newProbed(), newProbed()
	wrong.ours, away.err = time.Hour, errors.New("refused")
	for _, c := range []*probed{agreed, wrong, away} {
		if c.Measured() {
			t.Error("measured before the start")
		}
		c.started = c.Now()
		_ = c.Probe(t.Context())
	}
	if !agreed.Measured() || wrong.Measured() || away.Measured() {
		t.Errorf("after a probe: agreed %t, wrong %t, away %t; want only the first", agreed.Measured(), wrong.Measured(), away.Measured())
	}
	if interval := wrong.interval(nil); interval != settlingInterval {
		t.Errorf("the next probe comes after %s, want %s", interval, settlingInterval)
	}
	wrong.started = wrong.Now().Add(time.Hour) // no time-out
	wrong.probes(t, settledAfter-1)
	away.now = away.now.Add(maxSettling + time.Second)
	if !wrong.Measured() || !away.Measured() {
		t.Errorf("wrong %t after %d probes, away %t after %s; want both", wrong.Measured(), settledAfter, away.Measured(), maxSettling)
	}
}

// TestClockIsReported once, and again when it is set.
func TestClockIsReported(t *testing.T) {
	c := newProbed()
	steps := []struct {
		ours time.Duration
		want string
	}{
		{time.Second, ""},
		{time.Minute, "differs"},
		{time.Minute + time.Second, ""},
		{time.Hour, "differs"},
		{0, "agrees"},
		{0, ""},
	}
	for i, step := range steps {
		c.ours, c.log = step.ours, nil
		c.probes(t, 20)
		got := strings.Join(c.log, "\n")
		if (step.want == "") != (got == "") || !strings.Contains(got, step.want) || len(c.log) > 1 {
			t.Errorf("step %d: logged %q, want one line with %q", i, got, step.want)
		}
	}
}

// TestClockAgrees: a wrong clock is a problem of its own, and no reason to take the replica out of service.
func TestClockAgrees(t *testing.T) {
	for name, tc := range map[string]struct {
		ours time.Duration
		path string
		says string // empty: it passes
	}{
		"the clock agrees":            {0, "/clock", ""},
		"the clock is ahead":          {30 * time.Second, "/clock", "30s ahead of the API server's"},
		"the clock is behind":         {-30 * time.Second, "/clock", "30s behind the API server's"},
		"it is one of several checks": {30 * time.Second, "/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newProbed()
			c.ours = tc.ours
			c.probes(t, 10)
			err := c.ClockAgrees(httptest.NewRequest("GET", tc.path, nil))
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}
