package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// soak is a load that goes on for long, and what is measured meanwhile.
type soak struct {
	t        *testing.T
	rate     int // notifications a minute
	duration time.Duration
	interval time.Duration // of a row
	ttl      time.Duration // of finished runs
	flat     bool          // the rows must not grow

	tm *team
	f  *fakecluster.Cluster
	r  *replica

	mu   sync.Mutex
	sent []sentNotification // of this interval
	raw  []float64          // milliseconds that the API server takes for one object, without a manager
	all  int
	late []sentNotification // of earlier intervals: their runs had no Job
}

type sentNotification struct {
	namespace, run string
	at             time.Time
	took           time.Duration
}

// TestSoak sends notifications at a steady rate to one process, which answers and leads. A fake cluster ends the Jobs, and
// finished runs are deleted soon. All that was created must be gone in the end. The short form takes seconds; `make soak`
// goes on for long, and also fails if memory, latency or the number of objects grow.
func TestSoak(t *testing.T) {
	tier.All(t, "it is a steady load")
	s := newSoak(t)
	server := apiserver.Alone(t)
	s.tm = newTeam(t, server)
	s.tm.unbind()
	trigger := s.tm.trigger("smoke")
	s.tm.update(trigger, func() { trigger.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: s.ttl} })
	s.f = &fakecluster.Cluster{Tests: soakTests, Pods: true} // without a pod that passed, a run ends as Error
	s.f.Start(t, server)
	systemNamespace(t, server)
	freeLead(t, server)
	s.r = startReplica(t, kubeconfigOf(t, server.Manager(t)))
	s.r.AwaitReady()
	s.r.AwaitLog("Successfully acquired lease")
	s.tm.awaitKnown([]*replica{s.r})
	poll.True(t, "the runs of the warm-up are gone", func() bool { return len(s.tm.suites()) == 0 })

	before := server.Objects(t)
	apiServer, etcd := server.CPU(t)
	manager := s.r.CPU()
	rows := s.run(server)
	apiServerAfter, etcdAfter := server.CPU(t)
	poll.True(t, "all runs are deleted", func() bool { return len(s.tm.suites()) == 0 })
	n := float64(s.all)
	fmt.Printf("SOAK_TOTAL rate=%d seconds=%.0f runs=%d manager_cpu_ms_per_run=%.1f api_server_cpu_ms_per_run=%.1f etcd_cpu_ms_per_run=%.1f objects_left=%d\n",
		s.rate, s.duration.Seconds(), s.all, 1000*(s.r.CPU()-manager).Seconds()/n, 1000*(apiServerAfter-apiServer).Seconds()/n,
		1000*(etcdAfter-etcd).Seconds()/n, server.Objects(t)-before)
	if left := server.Objects(t) - before; left > soakSlack {
		t.Errorf("%d objects are left in etcd, want at most %d", left, soakSlack)
	}
	if s.flat {
		for _, problem := range growing(rows) {
			t.Error(problem)
		}
	}
}

// soakSlack are objects of other things that happen meanwhile, such as leases and events.
const soakSlack = 20

// newSoak is the short form unless a duration is set.
func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, rate: 300, duration: 8 * time.Second, interval: 2 * time.Second, ttl: time.Second}
	if set := os.Getenv("POSTFLIGHT_SOAK_DURATION"); set != "" {
		d, err := time.ParseDuration(set)
		if err != nil {
			t.Fatal(err)
		}
		s.duration, s.interval, s.ttl, s.flat = d, time.Minute, 30*time.Second, true
		if s.rate, err = strconv.Atoi(cmp.Or(os.Getenv("POSTFLIGHT_SOAK_RATE"), "1000")); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// soakTests all pass: each other end leaves an event, which Kubernetes keeps for an hour.
func soakTests(*batchv1.Job) (history.Tests, time.Duration) { return history.Passed, time.Second }

// run sends, and measures at the end of each interval.
func (s *soak) run(server *apiserver.Server) (rows []row) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), s.duration)
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	next, measure := time.NewTicker(time.Minute/time.Duration(s.rate)), time.NewTicker(s.interval)
	defer next.Stop()
	defer measure.Stop()
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			return append(rows, s.measure(server, len(rows)+1))
		case <-next.C:
			s.all++
			sha := fmt.Sprintf("soak-%d", s.all)
			all.Go(func() { s.notify(sha) })
			if s.all%rawEvery == 0 {
				all.Go(func() { s.create("raw-" + sha) })
			}
		case <-measure.C:
			rows = append(rows, s.measure(server, len(rows)+1))
		}
	}
}

func (s *soak) notify(sha string) {
	at := time.Now()
	a, err := notify(context.Background(), s.r.URL, s.tm.key, alone(sha))
	if err := created(a, err); err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sentNotification{s.tm.namespace, a.Results[0].Created, at, a.Took})
}

// rawEvery is after how many notifications an object is created without the manager: what becomes slower in both is not the manager.
const rawEvery = 10

func (s *soak) create(name string) {
	o := &corev1.ConfigMap{ObjectMeta: s.tm.meta(name)}
	at := time.Now()
	err := s.tm.s.Client.Create(context.Background(), o)
	took := time.Since(at)
	if err = errors.Join(err, s.tm.s.Client.Delete(context.Background(), o)); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, took.Seconds()*1000)
}

// row is what is measured of an interval.
type row struct {
	notifications               int
	p50, p99, toJob, raw        float64 // milliseconds; toJob is from the notification to the Job, and raw the median of one object
	rssMiB, goroutines, objects int
}

func (s *soak) measure(server *apiserver.Server, n int) row {
	s.t.Helper()
	s.mu.Lock()
	sent, raw := s.sent, s.raw
	s.sent, s.raw = nil, nil
	s.mu.Unlock()
	var answers, jobs []float64
	jobs, s.late = toJobs(s.f, slices.Concat(s.late, sent))
	for _, x := range sent {
		answers = append(answers, x.took.Seconds()*1000)
	}
	r := row{
		notifications: len(sent), p50: quantile(answers, .5), p99: quantile(answers, .99), toJob: quantile(jobs, .99), raw: quantile(raw, .5),
		rssMiB: s.r.RSSMiB(), goroutines: s.r.metric("go_goroutines"), objects: server.Objects(s.t),
	}
	fmt.Printf("SOAK interval=%d notifications=%d p50_ms=%.1f raw_p50_ms=%.1f p99_ms=%.0f to_job_p99_ms=%.0f rss_mib=%d goroutines=%d etcd_objects=%d\n",
		n, r.notifications, r.p50, r.raw, r.p99, r.toJob, r.rssMiB, r.goroutines, r.objects)
	return r
}

// toJobs returns in how many milliseconds the Jobs of runs began, and the runs that have none yet.
func toJobs(f *fakecluster.Cluster, runs []sentNotification) (times []float64, late []sentNotification) {
	for _, x := range runs {
		if began := f.Run(x.namespace, x.run).Began; !began.IsZero() {
			times = append(times, max(0, began.Sub(x.at).Seconds()*1000))
		} else {
			late = append(late, x)
		}
	}
	return times, late
}

func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(p*float64(len(values)-1))]
}
