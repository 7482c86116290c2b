package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	near = "near" // the Cluster that is the other side, without the proxy

	benchTurns = 8
	benchTurn  = 250 // notifications of each way, per turn
	benchCrowd = 16
)

// BenchmarkAnswer sends notifications to the hub and, in turns, to the cluster. Because of the turns, other load on the machine affects
// both. The cluster has no leader, so that runs cost nothing.
func BenchmarkAnswer(b *testing.B) {
	w := newWorld(b, options{idle: true})
	w.name(w.hub, near, w.cluster.manager.URL, v1alpha1.ClusterToken)
	tm := w.newTrustedTeam(b, near, "smoke")
	for b.Loop() {
		var hub, direct sample
		for turn := range benchTurns {
			hub.measure(b, benchTurn, func(i int) error { return tm.toHub.created(fmt.Sprintf("hub-%d-%d", turn, i)) }, w.hub, w.cluster)
			direct.measure(b, benchTurn, func(i int) error { return tm.direct.created(fmt.Sprintf("direct-%d-%d", turn, i)) }, w.cluster)
		}
		fmt.Printf("HUB_ANSWER concurrency=%d per_second=%.0f direct_per_second=%.0f ratio=%.2f median_ms=%.1f direct_median_ms=%.1f "+
			"p99_ms=%.1f direct_p99_ms=%.1f cpu_ms=%.2f direct_cpu_ms=%.2f\n",
			benchCrowd, hub.rate(), direct.rate(), hub.rate()/direct.rate(), hub.percentile(.5), direct.percentile(.5),
			hub.percentile(.99), direct.percentile(.99), hub.cpuPerCall(), direct.cpuPerCall())
	}
}

// newTrustedTeam lets the hub in by a Cluster of a name.
func (w *world) newTrustedTeam(t testing.TB, cluster string, triggers ...string) *team {
	t.Helper()
	tm := w.newTeamBy(t, cluster, triggers...)
	tm.trusts(w.cluster, w.hub, v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Upload: true, Read: true, Act: true})
	tm.awaitKnown()
	return tm
}

// created notifies of a commit that starts one run.
func (s sender) created(sha string) error {
	a := s.try(http.MethodPost, notifyPath, fmt.Sprintf(`{"branch":"main","sha":%q,"deployment_type":"staging"}`, sha))
	var answer httpapi.NotificationResult
	err := json.Unmarshal([]byte(a.body), &answer)
	if a.status != http.StatusOK || err != nil || len(answer.Results) != 1 || answer.Results[0].CreatedSuiteID == "" {
		return fmt.Errorf("no run was created: %v", a)
	}
	return nil
}

// sample are the times that calls took, how long all of them took together, and the CPU time of the managers.
type sample struct {
	times      []time.Duration
	total, cpu time.Duration
}

func (s *sample) measure(t testing.TB, calls int, call func(i int) error, managers ...*side) {
	t.Helper()
	before := cpuOf(managers)
	times, next, began := make([]time.Duration, calls), atomic.Int64{}, time.Now()
	var crowd sync.WaitGroup
	for range benchCrowd {
		crowd.Go(func() {
			for i := int(next.Add(1) - 1); i < calls; i = int(next.Add(1) - 1) {
				start := time.Now()
				if err := call(i); err != nil {
					t.Error(err)
				}
				times[i] = time.Since(start)
			}
		})
	}
	crowd.Wait()
	s.total += time.Since(began)
	s.cpu += cpuOf(managers) - before
	s.times = append(s.times, times...)
}

func cpuOf(all []*side) (sum time.Duration) {
	for _, s := range all {
		sum += s.manager.CPU()
	}
	return sum
}

func (s *sample) rate() float64 { return float64(len(s.times)) / s.total.Seconds() }

func (s *sample) cpuPerCall() float64 { return s.cpu.Seconds() * 1000 / float64(len(s.times)) }

// percentile in milliseconds.
func (s *sample) percentile(p float64) float64 {
	slices.Sort(s.times)
	return s.times[int(p*float64(len(s.times)-1))].Seconds() * 1000
}

// keepCalling calls until its end, which waits for the last call.
func keepCalling(ctx context.Context, n int, call func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				call(ctx)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}
