package replicas

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	queuedTurns = 4     // of benchTurn answers each
	longQueue   = 16000 // of ANSWER_QUEUED
	otherQueue  = 10000 // of OTHER_TEAM
	otherRuns   = 100   // of the team that is measured, at least, in each phase
	otherPause  = 20 * time.Millisecond
)

// benchSize is smaller with POSTFLIGHT_BENCH_SMALL=1, which shows that a benchmark works, and no figure.
func benchSize(n int) int {
	if os.Getenv("POSTFLIGHT_BENCH_SMALL") == "1" {
		return n / 40
	}
	return n
}

// BenchmarkAnswerQueued compares the answers of a manager that leads, to a team whose runs wait for one slot: while at most 2,000 wait, which
// these answers start, and while many more do. The API server, too, is slower with more objects. So as many Suites are created without a
// manager, before all others and after them.
func BenchmarkAnswerQueued(b *testing.B) {
	s := apiserver.Alone(b)
	tm := newTeam(b, s)
	trigger, elsewhere := tm.trigger("smoke"), s.Namespace(b)
	tm.get(trigger)
	c, err := k8sclient.New(s.Manager(b), k8sclient.Options{Scheme: s.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	raw := func(prefix string) (creates sample) {
		for turn := range queuedTurns {
			creates.measure(b, fmt.Sprintf("%s-%d", prefix, turn), func(sha string) error {
				run := suiteOf(trigger, alone(sha), sha)
				run.Namespace = elsewhere
				return c.Create(b.Context(), run)
			})
		}
		return creates
	}
	for b.Loop() {
		rawFew := raw("raw-few")
		if err := s.Client.DeleteAllOf(b.Context(), &v1alpha1.Suite{}, k8sclient.InNamespace(elsewhere)); err != nil {
			b.Fatal(err)
		}
		r := tm.queueLeader()
		answers := func(prefix string) (all sample) {
			for turn := range queuedTurns {
				all.measure(b, fmt.Sprintf("%s-%d", prefix, turn), func(sha string) error {
					return created(notify(b.Context(), r.URL, tm.key, alone(sha)))
				})
			}
			return all
		}
		few := answers("few")
		queued := benchSize(longQueue)
		tm.fillQueue(queued)
		r.awaitQueued(queued + queuedTurns*benchTurn - 1)
		many := answers("many")
		r.Kill()
		rawMany := raw("raw-many")
		fmt.Printf("ANSWER_QUEUED queued=%d concurrency=%d per_second=%.0f empty_per_second=%.0f ratio=%.2f p99_ms=%.1f empty_p99_ms=%.1f "+
			"raw_per_second=%.0f raw_empty_per_second=%.0f raw_ratio=%.2f\n", queued, benchCrowd, many.rate(), few.rate(), many.rate()/few.rate(),
			many.percentile(.99), few.percentile(.99), rawMany.rate(), rawFew.rate(), rawMany.rate()/rawFew.rate())
	}
}

// BenchmarkOtherTeam measures how long the Jobs of a team take, from its notification on: alone, while another team
// notifies thousands of times, of which one run at a time may start, and while those wait.
func BenchmarkOtherTeam(b *testing.B) {
	s := apiserver.Alone(b)
	busy := newTeam(b, s)
	r := busy.queueLeader()
	other := newTeam(b, s)
	other.unbind()
	other.awaitKnown([]*replica{r})
	jobs := other.watchJobs(func(j *batchv1.Job) string { return j.Name })
	for b.Loop() {
		queued := benchSize(otherQueue)
		before := other.untilJobs(r, jobs, "alone", enough(otherRuns))
		arrived := make(chan struct{})
		go func() {
			defer close(arrived)
			busy.notifyMany(r, queued)
		}()
		arriving := other.untilJobs(r, jobs, "arriving", func(n int) bool {
			select {
			case <-arrived:
				return n >= otherRuns
			default:
				return false
			}
		})
		r.awaitQueued(queued - 1)
		waiting := other.untilJobs(r, jobs, "waiting", enough(otherRuns))
		fmt.Printf("OTHER_TEAM queued=%d alone_runs=%d alone_p99_ms=%.0f arriving_runs=%d arriving_p99_ms=%.0f waiting_runs=%d waiting_p99_ms=%.0f\n", queued,
			len(before.times), before.percentile(.99), len(arriving.times), arriving.percentile(.99), len(waiting.times), waiting.percentile(.99))
	}
}

func enough(runs int) func(int) bool { return func(n int) bool { return n >= runs } }

// queueLeader is a manager that leads; of the runs of the team, it starts one at a time.
func (tm *team) queueLeader() *replica {
	tm.t.Helper()
	tm.unbind()
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	tm.update(owner, func() { owner.Spec.MaxConcurrentSuites = 1 })
	systemNamespace(tm.t, tm.s)
	freeLead(tm.t, tm.s)
	r := startReplica(tm.t, kubeconfigOf(tm.t, tm.s.Manager(tm.t)))
	r.AwaitReady()
	r.AwaitLog("this replica leads")
	tm.awaitKnown([]*replica{r})
	return r
}

// fillQueue creates Suites directly, each in a stream of its own.
func (tm *team) fillQueue(n int) {
	tm.t.Helper()
	trigger := tm.trigger("smoke")
	tm.get(trigger)
	inParallel(benchCrowd, n, func(i int) {
		sha := fmt.Sprintf("queued-%d", i)
		s := suiteOf(trigger, alone(sha), sha)
		if err := tm.s.Client.Create(tm.t.Context(), s); err != nil {
			tm.t.Error(err)
		}
	})
}

func (tm *team) notifyMany(r *replica, n int) {
	inParallel(benchCrowd, n, func(i int) {
		if err := created(notify(tm.t.Context(), r.URL, tm.key, alone(fmt.Sprintf("busy-%d", i)))); err != nil {
			tm.t.Error(err)
		}
	})
}

var queuedSuites = regexp.MustCompile(`(?m)^postflight_suites\{state="Queued"\} (\d+)`)

// awaitQueued waits until the leader has told so many runs that they wait.
func (r *replica) awaitQueued(n int) {
	r.t.Helper()
	err := poll.Wait(10*time.Minute, fmt.Sprintf("%d runs are queued", n), func() string {
		time.Sleep(200 * time.Millisecond) // the metrics cost the leader something
		resp, err := http.Get(r.Metrics + "/metrics")
		if err != nil {
			return err.Error()
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		m := queuedSuites.FindSubmatch(text)
		if m == nil {
			return "no figure"
		}
		if is, _ := strconv.Atoi(string(m[1])); is < n {
			return fmt.Sprintf("%d are", is)
		}
		return ""
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// seenJobs are the Jobs that a watch has seen, by a key.
type seenJobs struct {
	mu    sync.Mutex
	byKey map[string]seenJob
}

type seenJob struct {
	name string
	at   time.Time
}

func (j *seenJobs) get(key string) (seenJob, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	job, ok := j.byKey[key]
	return job, ok
}

func (tm *team) watchJobs(key func(*batchv1.Job) string) *seenJobs {
	tm.t.Helper()
	c, err := k8sclient.NewWithWatch(tm.s.Config, k8sclient.Options{Scheme: tm.s.Scheme})
	if err != nil {
		tm.t.Fatal(err)
	}
	events, err := c.Watch(tm.t.Context(), &batchv1.JobList{}, k8sclient.InNamespace(tm.namespace))
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.t.Cleanup(events.Stop)
	j := &seenJobs{byKey: map[string]seenJob{}}
	go func() {
		for e := range events.ResultChan() {
			if job, ok := e.Object.(*batchv1.Job); ok && e.Type == watch.Added {
				j.mu.Lock()
				j.byKey[key(job)] = seenJob{job.Name, time.Now()}
				j.mu.Unlock()
			}
		}
	}()
	return j
}

// untilJobs notifies one after the other until that is enough, and measures from each notification to its Job.
func (tm *team) untilJobs(r *replica, jobs *seenJobs, phase string, enough func(int) bool) *sample {
	tm.t.Helper()
	sent := map[string]time.Time{}
	for n := 0; !enough(n); n++ {
		began := time.Now()
		a, err := notify(tm.t.Context(), r.URL, tm.key, alone(fmt.Sprintf("%s-%d", phase, n)))
		if err := created(a, err); err != nil {
			tm.t.Fatal(err)
		}
		sent[a.Results[0].Created] = began
		time.Sleep(otherPause)
	}
	all := &sample{}
	for name, began := range sent {
		poll.True(tm.t, "the Job "+name, func() bool {
			job, ok := jobs.get(name)
			if ok {
				all.times = append(all.times, job.at.Sub(began))
			}
			return ok
		})
	}
	slices.Sort(all.times)
	return all
}
