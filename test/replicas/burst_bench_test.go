package replicas

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	burstSize  = 1000
	burstTurns = 4 // even, so that either goes first as often; a collection of the API server's garbage more or less counts less
)

// BenchmarkNotificationBurst measures the time from the first of a thousand notifications to the last of their Jobs. One
// process answers and leads. In turns, of which either is the first, it creates the same Suites and Jobs without a manager,
// with the same rights and at the same concurrency, by the client of controller-runtime, which reads each whole object back.
func BenchmarkNotificationBurst(b *testing.B) {
	w := burstWorldOfOne(b)
	for b.Loop() {
		raw, burst := w.inTurns(w.notified)
		fmt.Printf("NOTIFICATION_BURST notifications=%d turns=%d concurrency=%d seconds=%.2f raw_seconds=%.2f ratio=%.2f answered_seconds=%.2f "+
			"manager_cpu_ms_per_run=%.2f api_server_cpu_ms_per_run=%.2f raw_api_server_cpu_ms_per_run=%.2f etcd_cpu_ms_per_run=%.2f\n",
			burstSize, burstTurns, benchCrowd, burst.total.Seconds(), raw.total.Seconds(), raw.total.Seconds()/burst.total.Seconds(),
			burst.answered.Seconds(), perRun(burst.manager), perRun(burst.apiServer), perRun(raw.apiServer), perRun(burst.etcd))
	}
}

// inTurns measures bursts and the same without a manager.
func (w *burstWorld) inTurns(burst func(prefix string) spent) (raw, bursts spent) {
	w.b.Helper()
	for turn := range burstTurns {
		if turn%2 == 1 {
			bursts.add(burst(fmt.Sprintf("burst-%d", turn)))
		}
		raw.add(w.raw(fmt.Sprintf("raw-%d", turn)))
		if turn%2 == 0 {
			bursts.add(burst(fmt.Sprintf("burst-%d", turn)))
		}
	}
	return raw, bursts
}

// spent is what bursts cost: until the last Job exists.
type spent struct {
	total, answered          time.Duration
	manager, apiServer, etcd time.Duration
}

func (s *spent) add(more spent) {
	s.total += more.total
	s.answered += more.answered
	s.manager += more.manager
	s.apiServer += more.apiServer
	s.etcd += more.etcd
}

func perRun(d time.Duration) float64 { return d.Seconds() * 1000 / (burstSize * burstTurns) }

// burstWorld counts the Jobs of all namespaces.
type burstWorld struct {
	b          *testing.B
	s          *apiserver.Server
	tm         *team
	c          k8sclient.Client // with the rights of the manager
	kubeconfig string
}

// burstWorldOfOne has a team, which alone notifies.
func burstWorldOfOne(b *testing.B) *burstWorld {
	b.Helper()
	s := apiserver.Alone(b)
	tm := newTeam(b, s)
	tm.unbind()
	return newBurstWorld(b, s, tm)
}

func newBurstWorld(b *testing.B, s *apiserver.Server, tm *team) *burstWorld {
	b.Helper()
	systemNamespace(b, s)
	c, err := k8sclient.New(s.Manager(b), k8sclient.Options{Scheme: s.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	return &burstWorld{b: b, s: s, tm: tm, c: c, kubeconfig: kubeconfigOf(b, s.Manager(b))}
}

// raw creates what becomes of the notifications.
func (w *burstWorld) raw(prefix string) spent {
	w.b.Helper()
	trigger := w.tm.trigger("smoke")
	w.tm.get(trigger)
	environment := w.tm.environment()
	defer w.clear(w.tm)
	return w.measure(0, func() (answered time.Duration) {
		inParallel(benchCrowd, burstSize, func(i int) {
			sha := fmt.Sprintf("%s-%d", prefix, i)
			run := suiteOf(trigger, benchBodyOf(sha), sha)
			if err := w.c.Create(w.b.Context(), run); err != nil {
				w.b.Error(err)
				return
			}
			if err := w.c.Create(w.b.Context(), job.Build(run, trigger, environment)); err != nil {
				w.b.Error(err)
			}
		})
		return 0
	})
}

// notified starts a manager for the burst, so that the other turn has none.
func (w *burstWorld) notified(prefix string) spent {
	w.b.Helper()
	freeLead(w.b, w.s)
	r := startReplica(w.b, w.kubeconfig)
	defer r.Kill()
	defer w.clear(w.tm)
	r.AwaitReady()
	r.AwaitLog("Successfully acquired lease")
	w.tm.awaitKnown([]*replica{r})
	w.clear(w.tm)
	return w.measure(r.PID(), func() time.Duration {
		began := time.Now()
		inParallel(benchCrowd, burstSize, func(i int) {
			if err := created(notify(w.b.Context(), r.URL, w.tm.key, benchBodyOf(fmt.Sprintf("%s-%d", prefix, i)))); err != nil {
				w.b.Error(err)
			}
		})
		return time.Since(began)
	})
}

// benchBodyOf is a notification in a stream of its own, so that no run supersedes another.
func benchBodyOf(sha string) string {
	return fmt.Sprintf(`{"branch":%[1]q,"sha":%[1]q,"variables":{"REGION":"eu"}}`, sha)
}

// measure runs a burst until as many Jobs exist.
func (w *burstWorld) measure(pid int, burst func() time.Duration) (s spent) {
	w.b.Helper()
	apiServer, etcd := w.s.CPU(w.b)
	manager := w.cpuOf(pid)
	began := time.Now()
	s.answered = burst()
	w.awaitJobs(burstSize)
	s.total = time.Since(began)
	s.apiServer, s.etcd = w.s.CPU(w.b)
	s.apiServer, s.etcd, s.manager = s.apiServer-apiServer, s.etcd-etcd, w.cpuOf(pid)-manager
	return s
}

func (w *burstWorld) cpuOf(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	used, err := apiserver.CPUOf(pid)
	if err != nil {
		w.b.Fatal(err)
	}
	return used
}

// awaitJobs asks for one object and the number of the others, which costs the API server little.
func (w *burstWorld) awaitJobs(n int) {
	w.b.Helper()
	err := poll.Wait(10*time.Minute, fmt.Sprintf("there are %d Jobs", n), func() string {
		if jobs := w.jobs(); jobs < n {
			return fmt.Sprintf("there are %d", jobs)
		}
		return ""
	})
	if err != nil {
		w.b.Fatal(err)
	}
}

func (w *burstWorld) jobs(options ...k8sclient.ListOption) int {
	list := &batchv1.JobList{}
	if err := w.s.Client.List(context.Background(), list, append(options, k8sclient.Limit(1))...); err != nil {
		w.b.Fatal(err)
	}
	if list.RemainingItemCount == nil {
		return len(list.Items)
	}
	return len(list.Items) + int(*list.RemainingItemCount)
}

// clear deletes all runs of a team.
func (w *burstWorld) clear(tm *team) {
	if err := tm.deleteRuns(context.Background()); err != nil {
		w.b.Error(err)
	}
}

// inParallel calls do n times on so many goroutines.
func inParallel(goroutines, n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}
