package controllers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	burst       = 1000
	burstTurns  = 6
	concurrency = 16 // as many as the manager reconciles at once
)

// BenchmarkBurst measures how fast the manager creates Jobs for many Suites at once, compared with creating the
// same objects without a manager, at the same concurrency and with the same rights.
//
// In SUITE_BACKLOG all Suites exist when a manager becomes the leader: the rate is that of creating their Jobs, and
// is compared with creating these Jobs directly. SUITE_BURST measures the time from the creation of the first Suite
// to that of the last Job. Because this includes the creation of the Suites, it is compared with creating both the
// Suite and the Job of each run directly.
//
// All are measured in turns, because the speed of a machine changes within a minute by more than what is compared.
func BenchmarkBurst(b *testing.B) {
	w := emptyWorld(b)
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	for b.Loop() {
		var atOnce, backlog, rawJobs, rawRuns time.Duration
		for range burstTurns {
			rawRuns += w.raw(func(run *v1alpha1.Suite) []client.Object { return []client.Object{run, jobOf(run)} })
			atOnce += w.burst()
			rawJobs += w.raw(func(run *v1alpha1.Suite) []client.Object { return []client.Object{jobOf(run)} })
			backlog += w.backlog()
		}
		perSecond := func(d time.Duration) float64 { return burst * burstTurns / d.Seconds() }
		fmt.Printf("SUITE_BACKLOG suites=%d turns=%d jobs_per_second=%.0f raw_jobs_per_second=%.0f ratio=%.2f\n",
			burst, burstTurns, perSecond(backlog), perSecond(rawJobs), rawJobs.Seconds()/backlog.Seconds())
		fmt.Printf("SUITE_BURST suites=%d turns=%d jobs_per_second=%.0f raw_suites_and_jobs_per_second=%.0f ratio_with_suites=%.2f\n",
			burst, burstTurns, perSecond(atOnce), perSecond(rawRuns), rawRuns.Seconds()/atOnce.Seconds())
	}
}

// burst is how long it takes to create Jobs while the Suites are being created.
func (w *world) burst() time.Duration {
	w.t.Helper()
	defer w.clear(w.ns)
	mgr := w.runManager(controllers.CacheOptions(w.newBounds()))
	defer w.stop()
	began := time.Now()
	w.suites("burst", burst)
	w.jobsExist(mgr, burst)
	return time.Since(began)
}

// backlog is how long it takes to create Jobs for Suites that exist when a manager becomes the leader.
func (w *world) backlog() time.Duration {
	w.t.Helper()
	defer w.clear(w.ns)
	w.suites("backlog", burst)
	mgr := w.standby()
	defer w.stop()
	began := time.Now()
	w.jobsExist(mgr, burst)
	return time.Since(began)
}

// clear deletes what a turn has made. Nobody collects garbage, so Jobs are deleted too.
func (w *world) clear(namespace string) {
	w.t.Helper()
	for _, o := range []client.Object{&v1alpha1.Suite{}, &batchv1.Job{}} {
		w.must(w.Client.DeleteAllOf(context.Background(), o, client.InNamespace(namespace), client.PropagationPolicy("Background")))
	}
}

// standby is a manager that has just become the leader, with full caches.
func (w *world) standby() ctrl.Manager {
	w.t.Helper()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "burst-"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(600)), AcquireTime: &now, RenewTime: &now,
		},
	}
	w.create(lease)
	mgr := w.runManager(controllers.CacheOptions(w.newBounds()), func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease.Name, w.ns
		o.LeaderElectionConfig, o.LeaderElectionReleaseOnCancel = w.Config, true
	})
	w.must(w.Client.Delete(context.Background(), lease))
	<-mgr.Elected()
	return mgr
}

// suites creates Suites with few variables, each in a stream of its own.
func (w *world) suites(prefix string, n int) {
	w.t.Helper()
	w.parallel(n, func(i int) error {
		name := fmt.Sprintf("%s-%05d", prefix, i)
		return w.Client.Create(context.Background(), w.arrives(aSuite(name, i, keyed(name), func(s *v1alpha1.Suite) { s.Namespace = w.ns })))
	})
}

// raw is how long it takes to create the given objects of each run.
func (w *world) raw(of func(*v1alpha1.Suite) []client.Object) time.Duration {
	w.t.Helper()
	c, err := client.New(w.config, client.Options{Scheme: w.Scheme})
	w.must(err)
	ns := w.Namespace(w.t)
	defer w.clear(ns)
	began := time.Now()
	w.parallel(burst, func(i int) error {
		name := fmt.Sprintf("raw-%05d", i)
		for _, o := range of(aSuite(name, i, keyed(name), func(s *v1alpha1.Suite) {
			s.Namespace, s.UID = ns, types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		})) {
			if err := c.Create(context.Background(), o); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(began)
}

func jobOf(run *v1alpha1.Suite) *batchv1.Job {
	return job.Build(run, aTrigger("smoke"), anEnvironment("staging"))
}

// parallel calls do n times, on several goroutines.
func (w *world) parallel(n int, do func(i int) error) {
	w.t.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// jobsExist reads the manager's own cache, which costs the API server nothing.
func (w *world) jobsExist(mgr ctrl.Manager, n int) {
	w.t.Helper()
	w.must(poll.Wait(5*time.Minute, fmt.Sprintf("%d Jobs exist", n), func() string {
		jobs := &batchv1.JobList{}
		w.must(mgr.GetCache().List(context.Background(), jobs, inNamespace(w), client.UnsafeDisableDeepCopy))
		return fewer(len(jobs.Items), n)
	}))
}

// fewer returns how many there are, or "" if they are enough.
func fewer(are, want int) string {
	if are >= want {
		return ""
	}
	return fmt.Sprintf("there are %d", are)
}
