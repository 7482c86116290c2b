package replicas

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	burstTeams = 50
	burstCrowd = 200 // requests at once, of all teams
)

// BenchmarkTeamBurst sends 10,000 notifications of 50 teams at once, or POSTFLIGHT_BURST, to one process with the memory of
// the shipped container. Nothing may be lost. It is compared with the same Suites and Jobs made without a manager.
func BenchmarkTeamBurst(b *testing.B) {
	s := apiserver.New(b)
	w := newBurstWorld(b, s, newTeam(b, s))
	teams := make([]*team, burstTeams)
	for i := range teams {
		teams[i] = newTeam(b, s)
		teams[i].unbind()
	}
	n, err := strconv.Atoi(cmp.Or(os.Getenv("POSTFLIGHT_BURST"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	memory := newCgroup(b, containerMemory)
	b.Setenv("GOMEMLIMIT", goMemoryLimit)
	for b.Loop() {
		raw := w.rawTeams(teams, n)
		burst, shares, repeated := w.notifiedTeams(teams, n, memory)
		fmt.Printf("TEAM_BURST teams=%d notifications=%d concurrency=%d repeated=%d seconds=%.1f raw_seconds=%.1f times_raw=%.2f "+
			"fewest_jobs_of_a_team_at_half=%d most=%d peak_mib=%d limit_mib=%d\n",
			burstTeams, n, burstCrowd, repeated, burst.Seconds(), raw.Seconds(), burst.Seconds()/raw.Seconds(),
			slices.Min(shares), slices.Max(shares), memory.peakMiB(), containerMemory>>20)
		if memory.kills() > 0 {
			b.Error("the kernel killed the manager for its memory")
		}
	}
}

func (w *burstWorld) rawTeams(teams []*team, n int) time.Duration {
	w.b.Helper()
	defer w.clearAll(teams)
	began := time.Now()
	trigger, environment := teams[0].trigger("smoke"), teams[0].environment()
	teams[0].get(trigger)
	inParallel(benchCrowd, n, func(i int) {
		run := rawSuite(trigger, fmt.Sprintf("raw-%d", i))
		run.Namespace = teams[i%len(teams)].namespace
		if err := w.c.Create(w.b.Context(), run); err != nil {
			w.b.Error(err)
			return
		}
		if err := w.c.Create(w.b.Context(), job.Build(run, trigger, environment)); err != nil {
			w.b.Error(err)
		}
	})
	return time.Since(began)
}

// notifiedTeams also returns how many Jobs each team had when half of all existed, and how many requests were repeated.
func (w *burstWorld) notifiedTeams(teams []*team, n int, memory *cgroup) (took time.Duration, shares []int, repeated int64) {
	w.b.Helper()
	freeLead(w.b, w.s)
	r := startReplica(w.b, w.kubeconfig, memory.run()...)
	defer r.end()
	defer w.clearAll(teams)
	r.awaitReady()
	r.awaitLog("Successfully acquired lease", 20*time.Second)
	teams[len(teams)-1].awaitKnown([]*replica{r})
	w.clearAll(teams)
	memory.peakMiB() // of the start
	began := time.Now()
	half := make(chan []int, 1)
	go func() {
		w.awaitJobs(n / 2)
		half <- jobsOf(w, teams)
	}()
	var again atomic.Int64
	inParallel(burstCrowd, n, func(i int) {
		tm := teams[i%len(teams)]
		for tries := 0; ; tries++ {
			a, err := notify(w.b.Context(), r.url, tm.key, benchBodyOf(fmt.Sprintf("burst-%d", i)))
			if err == nil && a.Status == http.StatusOK {
				return
			}
			if tries > 100 {
				w.b.Errorf("notification %d was not accepted: %+v, %v", i, a, err)
				return
			}
			again.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
	})
	w.awaitJobs(n)
	took = time.Since(began)
	return took, <-half, again.Load()
}

func jobsOf(w *burstWorld, teams []*team) []int {
	counts := make([]int, len(teams))
	for i, tm := range teams {
		counts[i] = w.jobs(k8sclient.InNamespace(tm.namespace))
	}
	return counts
}

func (w *burstWorld) clearAll(teams []*team) {
	for _, tm := range teams {
		(&burstWorld{b: w.b, s: w.s, tm: tm}).clear()
	}
}
