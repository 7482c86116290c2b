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

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
)

const (
	burstTeams = 50
	burstCrowd = 200 // requests at once, of all teams
)

// BenchmarkTeamBurst sends 10,000 notifications of 50 teams at once, or POSTFLIGHT_BURST, to one process with the memory of
// the shipped container. Nothing may be lost. It is compared with the same Suites and Jobs made without a manager, before and
// after it, because the speed of a machine changes meanwhile.
func BenchmarkTeamBurst(b *testing.B) {
	s := apiserver.Alone(b)
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
		before, _ := s.CPU(b)
		raw := w.rawTeams(teams, n)
		between, _ := s.CPU(b)
		burst := w.notifiedTeams(teams, n, memory)
		after, _ := s.CPU(b)
		raw = (raw + w.rawTeams(teams, n)) / 2
		perRun := func(d time.Duration) float64 { return 1000 * d.Seconds() / float64(n) }
		fmt.Printf("TEAM_BURST teams=%d notifications=%d concurrency=%d repeated=%d seconds=%.1f raw_seconds=%.1f times_raw=%.2f "+
			"fewest_jobs_of_a_team_at_half=%d most=%d peak_mib=%d limit_mib=%d "+
			"manager_cpu_ms_per_run=%.2f api_server_cpu_ms_per_run=%.2f raw_api_server_cpu_ms_per_run=%.2f\n",
			burstTeams, n, burstCrowd, burst.repeated, burst.took.Seconds(), raw.Seconds(), burst.took.Seconds()/raw.Seconds(),
			slices.Min(burst.shares), slices.Max(burst.shares), memory.peakMiB(), containerMemory>>20,
			perRun(burst.manager), perRun(after-between), perRun(between-before))
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
	inParallel(burstCrowd, n, func(i int) {
		sha := fmt.Sprintf("raw-%d", i)
		run := suiteOf(trigger, benchBodyOf(sha), sha)
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

// teamBurst is what a burst of several teams came to. The CPU time of the API server includes that its objects are deleted.
type teamBurst struct {
	took     time.Duration
	shares   []int // Jobs of each team when half of all existed
	repeated int64 // requests
	manager  time.Duration
}

func (w *burstWorld) notifiedTeams(teams []*team, n int, memory *cgroup) teamBurst {
	w.b.Helper()
	freeLead(w.b, w.s)
	r := startWith(w.b, managers.Options{Kubeconfig: w.kubeconfig, Within: memory.run()})
	defer r.Kill()
	defer w.clearAll(teams)
	r.AwaitReady()
	r.AwaitLog("Successfully acquired lease")
	teams[len(teams)-1].awaitKnown([]*replica{r})
	w.clearAll(teams)
	memory.peakMiB() // of the start
	used := r.CPU()
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
			a, err := notify(w.b.Context(), r.URL, tm.key, benchBodyOf(fmt.Sprintf("burst-%d", i)))
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
	return teamBurst{time.Since(began), <-half, again.Load(), r.CPU() - used}
}

func jobsOf(w *burstWorld, teams []*team) []int {
	counts := make([]int, len(teams))
	for i, tm := range teams {
		counts[i] = w.jobs(k8sclient.InNamespace(tm.namespace))
	}
	return counts
}

func (w *burstWorld) clearAll(teams []*team) {
	inParallel(benchCrowd, len(teams), func(i int) { w.clear(teams[i]) })
}
