package answers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	perSecond = 5
	away      = 15 * time.Second
	around    = 3 * time.Second // before and after it
)

// TestAway: the API server is away for 15 s while 5 notifications a second arrive. None fails, and
// none is doubled. What is away is once the process, which refuses and errs for a while when it comes
// back, and once only the connections to it.
func TestAway(t *testing.T) {
	s := apiserver.New(t)
	t.Run("process", func(t *testing.T) {
		testAway(t, s, kubeconfigOf(t, s.Manager(t)), func() { s.Outage(t, func() { time.Sleep(away) }) })
	})
	t.Run("connections", func(t *testing.T) {
		p := newProxy(t, s.Manager(t))
		testAway(t, s, p.kubeconfig(), func() { p.down(); time.Sleep(away); p.up() })
	})
}

func testAway(t *testing.T, s *apiserver.Server, kubeconfig string, outage func()) {
	tm := newTeam(t, s)
	all := replicas(t, s, kubeconfig, processes)
	tm.awaitKnown(all)
	over := make(chan struct{})
	go func() {
		defer close(over)
		time.Sleep(around)
		outage()
		time.Sleep(around)
	}()
	c := tm.trickle(all, over)
	suites := len(tm.suites())
	t.Logf("AWAY what=%s seconds=%.0f suites=%d %s longest=%s", t.Name(), away.Seconds(), suites, c, c.percentile(1).Round(time.Millisecond))
	if sent := len(c.times); c.created != sent || suites != sent {
		t.Errorf("%s and %d Suites, want %d created; e.g. %s", c, suites, sent, c.first)
	}
	if longest := c.percentile(1); longest < away-time.Second || longest > 45*time.Second {
		t.Errorf("the longest hold was %s, want at least about %s", longest, away)
	}
}

// trickle sends notifications, each of a sha of its own, until it is over and all are answered.
func (tm *team) trickle(all []*replica, over <-chan struct{}) *counts {
	c := &counts{}
	var wait sync.WaitGroup
	defer wait.Wait()
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		wait.Go(func() {
			c.add(notify(tm.t.Context(), all[n%len(all)].url, tm.key, fmt.Sprintf(`{"branch":"main","sha":"away-%d"}`, n)))
		})
		select {
		case <-over:
			return c
		case <-ticker.C:
		}
	}
}
