package replicas

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	perSecond = 5
	away      = 15 * time.Second
	refusing  = 5 * time.Second
	around    = 2 * time.Second // before and after it
)

// TestAway: the API server is unavailable for 15 s while 5 notifications a second arrive. None fails, and
// none is duplicated. In one case the process is down, which returns errors for a while when it is back;
// in the other only the connections to it are cut.
func TestAway(t *testing.T) {
	tier.All(t, "the API server is unavailable for long")
	s := apiserver.Alone(t)
	t.Run("process", func(t *testing.T) {
		testOutage(t, s, kubeconfigOf(t, s.Manager(t)), away, func() { s.Outage(t, func() { time.Sleep(away) }) })
	})
	t.Run("connections", func(t *testing.T) {
		p := newProxy(t, s.Manager(t))
		testOutage(t, s, p.kubeconfig(), away, func() { p.down(); time.Sleep(away); p.up() })
	})
}

// TestRefusing: the API server runs, but answers every write with an error.
func TestRefusing(t *testing.T) {
	tier.All(t, "the API server refuses for long")
	cases := map[string]http.HandlerFunc{
		"429": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		},
		"500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "etcdserver: no leader", 500) },
		"503": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	s := apiserver.Alone(t)
	for name, refuse := range cases {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, s.Manager(t))
			testOutage(t, s, p.kubeconfig(), refusing, func() { p.refuse.Store(&refuse); time.Sleep(refusing); p.refuse.Store(nil) })
		})
	}
}

func testOutage(t *testing.T, s *apiserver.Server, kubeconfig string, lasts time.Duration, outage func()) {
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
	t.Logf("OUTAGE what=%s seconds=%.0f suites=%d %s longest_hold=%s", t.Name(), lasts.Seconds(), suites, c, c.percentile(1).Round(time.Millisecond))
	if sent := len(c.times); c.created != sent || suites != sent {
		t.Errorf("%s and %d Suites, want %d created; e.g. %s", c, suites, sent, c.first)
	}
	if longest := c.percentile(1); longest < lasts-time.Second {
		t.Errorf("the longest hold was %s, want about %s: nothing was held, so this tested little", longest, lasts)
	}
}

// trickle sends notifications, each with its own SHA, until over is closed and all are answered.
func (tm *team) trickle(all []*replica, over <-chan struct{}) *counts {
	c := &counts{}
	var wait sync.WaitGroup
	defer wait.Wait()
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		wait.Go(func() {
			c.add(notify(tm.t.Context(), all[n%len(all)].URL, tm.key, fmt.Sprintf(`{"branch":"main","sha":"away-%d"}`, n)))
		})
		select {
		case <-over:
			return c
		case <-ticker.C:
		}
	}
}
