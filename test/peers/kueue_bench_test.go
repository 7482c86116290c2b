package peers

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

// BenchmarkKueueScenario plays the benchmark of Kueue's scheduler: by Postflight, by Kueue as it publishes it, and by a Kueue whose client
// has no limit. Each has an API server of its own, with the limits that Kueue's runner gives it.
func BenchmarkKueueScenario(b *testing.B) {
	sc := readScenario(b)
	for _, by := range []struct {
		name string
		play func(*testing.B, scenario) outcomes
	}{
		{"postflight", playPostflight},
		{"kueue", func(b *testing.B, sc scenario) outcomes { return playKueue(b, sc, "minimalkueue") }},
		{"kueue_unthrottled", func(b *testing.B, sc scenario) outcomes { return playKueue(b, sc, "minimalkueue-unthrottled") }},
	} {
		b.Run(by.name, func(b *testing.B) {
			for b.Loop() {
				o, runs := by.play(b, sc), sc.runs()
				fmt.Printf("KUEUE_SCENARIO by=%s runs=%d queues=%d seconds=%.1f per_second=%.1f "+
					"small_admitted_ms=%d medium_admitted_ms=%d large_admitted_ms=%d controller_cpu_ms_per_run=%.2f "+
					"api_server_cpu_ms_per_run=%.2f etcd_cpu_ms_per_run=%.2f peak_mib=%d writes_per_run=%.1f evictions=%d\n",
					by.name, runs, len(sc.queues()), o.took.Seconds(), float64(runs)/o.took.Seconds(), o.admitted["small"].Milliseconds(),
					o.admitted["medium"].Milliseconds(), o.admitted["large"].Milliseconds(), o.cost.perRun("controller", runs),
					o.cost.perRun("api_server", runs), o.cost.perRun("etcd", runs), o.peakMiB, o.cost.writesPerRun(runs), o.evictions)
				b.Logf("requests per run: %s", o.cost.describe(runs))
			}
		})
	}
}

// outcomes are those of a scenario.
type outcomes struct {
	took      time.Duration            // from the first queue or notification to the last end
	admitted  map[string]time.Duration // by class, on average
	cost      usage
	peakMiB   int
	evictions int
}

func newScenarioServer(b *testing.B, crds string) *apiserver.Server {
	b.Helper()
	return apiserver.Own(b, apiserver.Options{CRDs: crds, API: map[string]string{
		"max-requests-inflight": "800", "max-mutating-requests-inflight": "400",
	}})
}

// playKueue runs Kueue's scheduler and controllers, and its runner, which creates Workloads and ends them.
func playKueue(b *testing.B, sc scenario, program string) outcomes {
	b.Helper()
	s := newScenarioServer(b, path(b, "bin", "peers", "kueue-scenario", "crds"))
	kubeconfig, dir := apiserver.Kubeconfig(b, s.Config), b.TempDir()
	kueue := startProgram(b, program, nil, "--kubeconfig", kubeconfig)
	m := meter{s, map[string]int{"controller": kueue.pid()}}
	cost := m.measure(b, func() {
		// It cleans up when it ends, which is hardly anything.
		runner := startProgram(b, "kueue-runner", []string{"KUBECONFIG=" + kubeconfig},
			"-o", dir, "-generatorConfig", sc.file, "-qps", "1000", "-burst", "2000", "-timeout", "30m")
		must(b, runner.cmd.Wait())
		m.settle(b)
	})
	o := readSummary(b, sc, filepath.Join(dir, "summary.yaml"))
	o.cost, o.peakMiB = cost, managers.MemoryMiB(b, kueue.pid(), "VmHWM:")
	return o
}

// readSummary reads what Kueue's runner has recorded.
func readSummary(b *testing.B, sc scenario, file string) outcomes {
	b.Helper()
	var summary struct {
		ClusterQueueClasses map[string]struct {
			FirstEventTime, LastEventTime time.Time
		}
		WorkloadClasses map[string]struct {
			Count, TotalEvictions, AverageTimeToAdmissionMs int
		}
		DroppedWorkloadEvents int
	}
	content, err := os.ReadFile(file)
	must(b, err)
	must(b, yaml.Unmarshal(content, &summary))
	o := outcomes{admitted: map[string]time.Duration{}}
	n := 0
	for name, class := range summary.WorkloadClasses {
		n += class.Count
		o.evictions += class.TotalEvictions
		o.admitted[name] = time.Duration(class.AverageTimeToAdmissionMs) * time.Millisecond
	}
	for _, queue := range summary.ClusterQueueClasses {
		o.took = max(o.took, queue.LastEventTime.Sub(queue.FirstEventTime))
	}
	if n != sc.runs() || summary.DroppedWorkloadEvents > 0 {
		b.Errorf("the runner saw %d of %d workloads, and dropped %d events", n, sc.runs(), summary.DroppedWorkloadEvents)
	}
	return o
}

// playPostflight sends a notification for each workload. A fake cluster runs the Jobs for as long as Kueue's runner does.
func playPostflight(b *testing.B, sc scenario) outcomes {
	b.Helper()
	s := newScenarioServer(b, "")
	triggers, lasts := sc.triggers()
	f := &fakecluster.Cluster{Pods: true, Tests: func(j *batchv1.Job) (history.Tests, time.Duration) {
		return history.Passed, lasts[j.Labels[v1alpha1.LabelTrigger]]
	}}
	f.Start(b, s)
	p := startLeader(b, s)
	l := load{b: b, f: f}
	var clients []*client.Client
	for _, q := range sc.queues() {
		team := newBenchTeam(b, s, q.slots(), triggers...)
		l.teams = append(l.teams, team)
		clients = append(clients, team.connect(b, p, slices.Collect(maps.Keys(lasts))...))
	}
	m := meter{s, map[string]int{"controller": p.PID()}}
	cost := m.measure(b, func() {
		l.began = time.Now()
		l.send(sc, clients)
		l.awaitEnds()
		m.settle(b)
	})
	o := l.outcomes()
	o.cost, o.peakMiB = cost, p.MemoryMiB("VmHWM:")
	return o
}

// load are the runs of a scenario.
type load struct {
	b     *testing.B
	f     *fakecluster.Cluster
	teams []benchTeam
	began time.Time

	mu   sync.Mutex
	runs []sentRun
}

type sentRun struct {
	class, namespace, name string
	at                     time.Time
}

// send does what the generator of Kueue's runner does: it pauses before each, and waits for the answer.
func (l *load) send(sc scenario, clients []*client.Client) {
	var all sync.WaitGroup
	for q, queue := range sc.queues() {
		for _, w := range queue.WorkloadsSets {
			all.Go(func() {
				for i := range w.Count {
					for _, class := range w.Workloads {
						time.Sleep(time.Duration(w.CreationIntervalMs) * time.Millisecond)
						at := time.Now()
						name := notify(l.b, clients[q], notificationOf(class.ClassName, fmt.Sprintf("%s-%d", class.ClassName, i)))
						l.mu.Lock()
						l.runs = append(l.runs, sentRun{class.ClassName, l.teams[q].namespace, name, at})
						l.mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
}

func (l *load) awaitEnds() {
	l.b.Helper()
	for i, r := range l.runs {
		err := poll.Wait(30*time.Minute, "all runs have ended", func() string {
			if l.f.Run(r.namespace, r.name).Ended.IsZero() {
				return fmt.Sprintf("%s of %s has not, the %d. of %d", r.name, r.namespace, i+1, len(l.runs))
			}
			return ""
		})
		must(l.b, err)
	}
}

// outcomes counts a run as admitted when its tests begin.
func (l *load) outcomes() outcomes {
	l.b.Helper()
	o, n := outcomes{admitted: map[string]time.Duration{}}, map[string]time.Duration{}
	for _, r := range l.runs {
		is := l.f.Run(r.namespace, r.name)
		if is.Jobs != 1 || !slices.Equal(is.Ends, []string{v1alpha1.ReasonPassed}) {
			l.b.Errorf("%s has had %d Jobs, and is %v", r.name, is.Jobs, is.Ends)
		}
		n[r.class]++
		o.admitted[r.class] += is.Began.Sub(r.at)
		o.took = max(o.took, is.Ended.Sub(l.began))
	}
	for class := range n {
		o.admitted[class] /= n[class]
	}
	return o
}
