package suite_test

import (
	"context"
	"fmt"
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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

const (
	burst      = 1000
	burstTurns = 6
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
	w := world.Empty(b)
	w.UntouchedFor = time.Minute // as in a manager, no status of a new Job is written during a burst
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	for b.Loop() {
		var atOnce, backlog, rawJobs, rawRuns time.Duration
		for range burstTurns {
			rawRuns += measureRaw(w, func(run *v1alpha1.Suite) []client.Object { return []client.Object{run, world.JobOf(run)} })
			atOnce += measureBurst(w)
			rawJobs += measureRaw(w, func(run *v1alpha1.Suite) []client.Object { return []client.Object{world.JobOf(run)} })
			backlog += measureBacklog(w)
		}
		perSecond := func(d time.Duration) float64 { return burst * burstTurns / d.Seconds() }
		fmt.Printf("SUITE_BACKLOG suites=%d turns=%d jobs_per_second=%.0f raw_jobs_per_second=%.0f ratio=%.2f\n",
			burst, burstTurns, perSecond(backlog), perSecond(rawJobs), rawJobs.Seconds()/backlog.Seconds())
		fmt.Printf("SUITE_BURST suites=%d turns=%d jobs_per_second=%.0f raw_suites_and_jobs_per_second=%.0f ratio_with_suites=%.2f\n",
			burst, burstTurns, perSecond(atOnce), perSecond(rawRuns), rawRuns.Seconds()/atOnce.Seconds())
	}
}

// measureBurst is how long it takes to create Jobs while the Suites are being created.
func measureBurst(w *world.World) time.Duration {
	w.T.Helper()
	defer clear(w, w.NS)
	mgr := w.RunManager(controllers.CacheOptions(w.NewBounds()))
	defer w.Stop()
	began := time.Now()
	suites(w, "burst", burst)
	jobsExist(w, mgr, burst)
	return time.Since(began)
}

// measureBacklog is how long it takes to create Jobs for Suites that exist when a manager becomes the leader.
func measureBacklog(w *world.World) time.Duration {
	w.T.Helper()
	defer clear(w, w.NS)
	suites(w, "backlog", burst)
	mgr := standby(w)
	defer w.Stop()
	began := time.Now()
	jobsExist(w, mgr, burst)
	return time.Since(began)
}

// clear deletes what a turn has made. Nobody collects garbage, so Jobs are deleted too.
func clear(w *world.World, namespace string) {
	w.T.Helper()
	for _, o := range []client.Object{&v1alpha1.Suite{}, &batchv1.Job{}} {
		w.Must(w.Client.DeleteAllOf(context.Background(), o, client.InNamespace(namespace), client.PropagationPolicy("Background")))
	}
}

// standby is a manager that has just become the leader, with full caches.
func standby(w *world.World) ctrl.Manager {
	w.T.Helper()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "burst-"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(600)), AcquireTime: &now, RenewTime: &now,
		},
	}
	w.Create(lease)
	mgr := w.RunManager(controllers.CacheOptions(w.NewBounds()), func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease.Name, w.NS
		o.LeaderElectionConfig, o.LeaderElectionReleaseOnCancel = w.Config, true
	})
	w.Delete(lease)
	<-mgr.Elected()
	return mgr
}

// suites creates Suites with few variables, each in a stream of its own.
func suites(w *world.World, prefix string, n int) {
	w.T.Helper()
	w.Parallel(n, func(i int) error {
		name := fmt.Sprintf("%s-%05d", prefix, i)
		return w.Client.Create(context.Background(), w.Arrives(build.In(w.NS, build.Suite(name, i, build.Keyed(name)))))
	})
}

// measureRaw is how long it takes to create the given objects of each run.
func measureRaw(w *world.World, of func(*v1alpha1.Suite) []client.Object) time.Duration {
	w.T.Helper()
	c, err := client.New(w.ManagerConfig, client.Options{Scheme: w.Scheme})
	w.Must(err)
	ns := w.Namespace(w.T)
	defer clear(w, ns)
	began := time.Now()
	w.Parallel(burst, func(i int) error {
		name := fmt.Sprintf("raw-%05d", i)
		for _, o := range of(build.Suite(name, i, build.Keyed(name), func(s *v1alpha1.Suite) {
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

// jobsExist reads the manager's own cache, which costs the API server nothing.
func jobsExist(w *world.World, mgr ctrl.Manager, n int) {
	w.T.Helper()
	w.Must(poll.Wait(5*time.Minute, fmt.Sprintf("%d Jobs exist", n), func() string {
		jobs := &batchv1.JobList{}
		w.Must(mgr.GetCache().List(context.Background(), jobs, inNamespace(w), client.UnsafeDisableDeepCopy))
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
