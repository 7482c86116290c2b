package replicas

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	processes = 3
	crowd     = 30 // notifications at once, a third to each process
)

// TestOnce: rounds of identical notifications, sent to three processes at once, make one Suite each,
// which one client gets as created and all others as a duplicate; also where every
// tenth answer of the API server is lost after the write.
func TestOnce(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	all := replicas(t, s, p.kubeconfig(), processes)
	for name, every := range map[string]int64{"direct": 0, "every tenth answer is lost": 10} {
		t.Run(name, func(t *testing.T) { testOnce(t, s, p, all, every) })
	}
}

func testOnce(t *testing.T, s *apiserver.Server, p *proxy, all []*replica, every int64) {
	tm := newTeam(t, s)
	tm.unbind()
	tm.awaitKnown(all)
	p.every.Store(every)
	defer p.every.Store(0)
	c, rounds, start := &counts{}, rounds(t), time.Now()
	for round := range rounds {
		var wait sync.WaitGroup
		for i := range crowd {
			wait.Go(func() {
				c.add(notify(t.Context(), all[i%processes].URL, tm.key, fmt.Sprintf(`{"branch":"main","sha":"round-%d"}`, round)))
			})
		}
		wait.Wait()
	}
	suites := tm.suites()
	t.Logf("ONCE every=%d rounds=%d suites=%d %s lost=%d seconds=%.1f p50=%s p99=%s", every, rounds, len(suites), c,
		p.lost.Load(), time.Since(start).Seconds(), c.percentile(.5).Round(time.Millisecond), c.percentile(.99).Round(time.Millisecond))
	if len(suites) != rounds || c.created != rounds || c.duplicate != rounds*(crowd-1) || len(c.ids) != rounds {
		t.Errorf("%d Suites, %d ids, %s, want %d created and %d duplicates of them; e.g. %s", len(suites), len(c.ids), c, rounds, rounds*(crowd-1), c.first)
	}
	for id, n := range c.ids {
		if n != crowd {
			t.Errorf("%d clients got %s, want %d", n, id, crowd)
		}
	}
	if every > 0 && p.lost.Load() == 0 {
		t.Error("no answer was lost, so this tested nothing")
	}
}

// rounds are 200, 5 in the gate, or POSTFLIGHT_TEST_ROUNDS.
func rounds(t *testing.T) int {
	t.Helper()
	if set := os.Getenv("POSTFLIGHT_TEST_ROUNDS"); set != "" {
		n, err := strconv.Atoi(set)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if tier.Gate() {
		return 5
	}
	return 200
}
