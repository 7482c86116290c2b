package hub

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	dead = "dead" // a Cluster that accepts connections, and never answers

	deadCrowd  = 32 // requests that wait for it
	deadTurns  = 8
	deadTurn   = 200
	deadFactor = 1.2
)

// TestDeadClusterDelaysNoOther: while notifications and reads of another team hang because its cluster does not answer, those of a team whose
// cluster answers take as long as otherwise.
func TestDeadClusterDelaysNoOther(t *testing.T) {
	tier.All(t, "it sends some thousand requests")
	tier.Nightly(t, "it compares times")
	w := newWorld(t, options{idle: true})
	w.name(w.hub, near, w.cluster.manager.URL, v1alpha1.ClusterToken)
	w.name(w.hub, dead, neverAnswers(t), v1alpha1.ClusterToken)
	tm, other := w.newTrustedTeam(t, near, "smoke"), w.newTeamBy(t, dead)
	id := tm.toHub.run("first")
	var hung atomic.Int64
	hang := func(ctx context.Context) {
		n := hung.Add(1)
		if n%2 == 0 {
			other.toHub.tryIn(ctx, http.MethodGet, "/api/v0/ci-greenlight/none", "")
			return
		}
		other.toHub.tryIn(ctx, http.MethodPost, notifyPath, fmt.Sprintf(`{"branch":"main","sha":"hangs-%d"}`, n))
	}
	compare := func() (worst float64) {
		var notify, read [2]sample // without and with the dead cluster
		for turn := range 2 * deadTurns {
			with, end := (turn+1)/2%2, func() {} // 0, 1, 1, 0, ..., because there are more runs in later turns
			if with == 1 {
				end = keepCalling(t.Context(), deadCrowd, hang)
				time.Sleep(time.Second) // until all of them hang
			}
			notify[with].measure(t, deadTurn, func(i int) error {
				return tm.toHub.created(fmt.Sprintf("%d-%d-%d", time.Now().UnixNano(), turn, i))
			})
			read[with].measure(t, deadTurn, func(int) error {
				if a := tm.toHub.try(http.MethodGet, "/api/v0/ci-greenlight/"+id, ""); a.status != http.StatusOK {
					return fmt.Errorf("%v", a)
				}
				return nil
			})
			end()
		}
		for what, s := range map[string]*[2]sample{"notify": &notify, "greenlight": &read} {
			ratio := s[1].percentile(.99) / s[0].percentile(.99)
			worst = max(worst, ratio)
			fmt.Printf("HUB_DEAD what=%s hung=%d median_ms=%.1f without_median_ms=%.1f p99_ms=%.1f without_p99_ms=%.1f p99_ratio=%.2f\n",
				what, deadCrowd, s[1].percentile(.5), s[0].percentile(.5), s[1].percentile(.99), s[0].percentile(.99), ratio)
		}
		return worst
	}
	if worst := compare(); worst > deadFactor {
		fmt.Printf("REPEATED test=%s ratio=%.2f bound=%.2f\n", t.Name(), worst, deadFactor)
		if worst = compare(); worst > deadFactor {
			t.Errorf("a cluster that does not answer makes the slowest answers of another team %.2f times as slow, want %.2f at most", worst, deadFactor)
		}
	}
}

// neverAnswers returns the URL of a server that accepts all connections.
func neverAnswers(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return "http://" + l.Addr().String()
}
