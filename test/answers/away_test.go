package answers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestAway: the API server is away for 15 s while 5 notifications a second arrive. None fails, and
// none is doubled.
func TestAway(t *testing.T) {
	const (
		perSecond = 5
		away      = 15 * time.Second
		around    = 3 * time.Second
	)
	s := apiserver.New(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	all := replicas(t, s, p.kubeconfig(), processes)
	tm.awaitKnown(all)

	c, sent := &counts{}, 0
	var wait sync.WaitGroup
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for start := time.Now(); time.Since(start) < away+2*around; <-ticker.C {
		switch {
		case sent == int(around.Seconds())*perSecond:
			p.down()
		case sent == int((around+away).Seconds())*perSecond:
			p.up()
		}
		body, url := fmt.Sprintf(`{"branch":"main","sha":"away-%d"}`, sent), all[sent%processes].url
		wait.Go(func() { c.add(notify(t.Context(), url, tm.key, body)) })
		sent++
	}
	wait.Wait()
	t.Logf("AWAY seconds=%.0f sent=%d suites=%d %s longest=%s", away.Seconds(), sent, len(tm.suites()), c, c.percentile(1).Round(time.Millisecond))
	if c.created != sent || len(tm.suites()) != sent {
		t.Errorf("%s and %d Suites, want %d created; e.g. %s", c, len(tm.suites()), sent, c.first)
	}
	if longest := c.percentile(1); longest < away-time.Second || longest > away+10*time.Second {
		t.Errorf("the longest hold was %s, want about %s", longest, away)
	}
}
