package fairness

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// callers enter a limiter and stay.
type callers struct {
	l       *YieldingLimiter
	through map[string][]func() // the release of each that was let through, by team
	more    chan passed
}

type passed struct {
	team    string
	release func()
}

func newCallers(perTeam int) *callers {
	return &callers{NewYieldingLimiter(perTeam), map[string][]func(){}, make(chan passed, 100)}
}

func (c *callers) call(ctx context.Context, team string, n int) {
	for range n {
		go func() { c.more <- passed{team, c.l.Acquire(ctx, team)} }()
		synctest.Wait()
	}
}

// in is how many of a team are through and have not left.
func (c *callers) in(team string) int {
	synctest.Wait()
	for len(c.more) > 0 {
		p := <-c.more
		c.through[p.team] = append(c.through[p.team], p.release)
	}
	return len(c.through[team])
}

func (c *callers) leave(team string, n int) {
	c.in(team)
	for _, release := range c.through[team][:n] {
		release()
	}
	c.through[team] = c.through[team][n:]
}

// TestYieldingLimiter: a team alone is not bounded; while another one calls, it is, and its calls wait.
func TestYieldingLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(2)
		are := func(busy, other int) {
			t.Helper()
			if b, o := c.in("busy"), c.in("other"); b != busy || o != other {
				t.Fatalf("%d of busy and %d of other are through, want %d and %d", b, o, busy, other)
			}
		}
		c.call(t.Context(), "busy", 5)
		are(5, 0)
		c.call(t.Context(), "other", 1)
		c.call(t.Context(), "busy", 3)
		are(5, 1) // the others of busy are many already
		c.leave("busy", 3)
		are(2, 1)
		c.leave("busy", 1)
		are(2, 1) // one takes its place
		time.Sleep(othersFor / 2)
		c.leave("other", 1)
		c.call(t.Context(), "other", 1)
		c.leave("busy", 1)
		are(2, 1)
		c.call(t.Context(), "busy", 3)
		are(2, 1)
		time.Sleep(othersFor * 3 / 4)
		c.call(t.Context(), "other", 1)
		c.leave("other", 1)
		time.Sleep(othersFor / 2)
		c.leave("busy", 1) // another team has come after all of its calls
		are(2, 1)
		time.Sleep(othersFor)
		c.leave("busy", 1) // none of another team has come since, so that two take its place
		are(3, 1)
		c.call(t.Context(), "busy", 1)
		are(5, 1)
		c.leave("busy", 5)
		c.leave("other", 1)
		if len(c.l.teams) != 0 {
			t.Errorf("%d teams are left behind", len(c.l.teams))
		}
	})
}

// TestYieldingLimiterOrder: once no other team calls any more, calls that waited go on two by two, and no new one overtakes them.
func TestYieldingLimiterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(1)
		c.call(t.Context(), "other", 1)
		c.call(t.Context(), "busy", 5)
		for _, step := range []struct {
			do   func()
			want int
		}{
			{func() { time.Sleep(othersFor) }, 1},
			{func() { c.call(t.Context(), "busy", 1) }, 3},
			{func() { c.leave("busy", 1) }, 4},
			{func() { c.leave("busy", 1) }, 4},
		} {
			step.do()
			if n := c.in("busy"); n != step.want {
				t.Fatalf("%d are through, want %d", n, step.want)
			}
		}
		c.leave("busy", c.in("busy"))
		c.leave("other", 1)
	})
}

// TestYieldingLimiterLetsAllThrough: a call waits no longer than its context or longestYield, in the order of arrival.
func TestYieldingLimiterLetsAllThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(1)
		c.call(t.Context(), "other", 1)
		c.call(t.Context(), "busy", 1)
		ctx, cancel := context.WithCancel(t.Context())
		c.call(ctx, "busy", 1)
		time.Sleep(time.Millisecond)
		c.call(t.Context(), "busy", 2)
		if n := c.in("busy"); n != 1 {
			t.Fatalf("%d are through", n)
		}
		cancel()
		if n := c.in("busy"); n != 2 {
			t.Fatalf("%d are through after the context of one was done", n)
		}
		time.Sleep(longestYield)
		if n := c.in("busy"); n != 4 {
			t.Fatalf("%d are through after %s", n, longestYield)
		}
		c.leave("busy", 4)
		c.leave("other", 1)
		if len(c.l.teams) != 0 {
			t.Errorf("%d teams are left behind", len(c.l.teams))
		}
	})
}
