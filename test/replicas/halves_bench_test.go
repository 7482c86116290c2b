package replicas

import (
	"fmt"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	cachedRuns  = 10000
	handledRuns = 1000 // in each turn
)

// BenchmarkSecondCache measures what another process costs that has the caches of the manager and does nothing, as a Deployment of
// its own for reconciling would: its memory beside 10,000 Suites, and the API server's CPU time per notification with
// and without its watches.
func BenchmarkSecondCache(b *testing.B) {
	s := apiserver.Alone(b)
	tm := newTeam(b, s)
	r := tm.queueLeader()
	for b.Loop() {
		empty := r.RSSMiB()
		queued := benchSize(cachedRuns)
		tm.fillQueue(queued)
		r.awaitQueued(queued - 1)
		handle := func(turn string) float64 {
			before, _ := s.CPU(b)
			inParallel(benchCrowd, benchSize(handledRuns), func(i int) {
				if err := created(notify(b.Context(), r.URL, tm.key, alone(fmt.Sprintf("%s-%d", turn, i)))); err != nil {
					b.Error(err)
				}
			})
			after, _ := s.CPU(b)
			return 1000 * (after - before).Seconds() / float64(benchSize(handledRuns))
		}
		one := handle("one")
		second := startReplica(b, kubeconfigOf(b, s.Manager(b)))
		second.AwaitReady()
		two := handle("two")
		fmt.Printf("SECOND_CACHE suites=%d leader_empty_mib=%d leader_mib=%d second_mib=%d api_server_ms_per_run=%.2f with_second_ms_per_run=%.2f ratio=%.2f\n",
			queued, empty, r.RSSMiB(), second.RSSMiB(), one, two, two/one)
	}
}
