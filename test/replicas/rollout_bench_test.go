package replicas

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	rollouts      = 30 // while an earlier run is tested, which each stops
	quietRollouts = 10 // after the earlier run has ended
)

// BenchmarkRollout prints how long after a rollout was complete the Job of its run exists, beside how long that takes from a notification
// of the same Trigger.
func BenchmarkRollout(b *testing.B) {
	s := apiserver.Alone(b)
	tm := newTeam(b, s)
	tm.unbind()
	w := &rolloutWorld{b: b, shop: tm.newWorkload(), cluster: &fakecluster.Cluster{Tests: chaosTests, Pods: true}}
	w.cluster.Start(b, s)
	freeLead(b, s)
	w.r = startReplica(b, kubeconfigOf(b, s.Manager(b)))
	w.r.AwaitReady()
	tm.awaitKnown([]*replica{w.r})
	w.shop.awaitWatched()
	w.jobs = tm.watchJobs(testedCommit)
	for b.Loop() {
		rolled, notified := w.measure(rollouts, func(seenJob) {})
		quietRolled, quietNotified := w.measure(quietRollouts, w.awaitEnd)
		fmt.Printf("ROLLOUT rollouts=%d to_job_median_ms=%d to_job_max_ms=%d notification_median_ms=%d notification_max_ms=%d "+
			"quiet_to_job_median_ms=%d quiet_notification_median_ms=%d\n", rollouts, medianMS(rolled), slices.Max(rolled).Milliseconds(),
			medianMS(notified), slices.Max(notified).Milliseconds(), medianMS(quietRolled), medianMS(quietNotified))
	}
}

// rolloutWorld has a workload, whose rollouts and notifications start runs.
type rolloutWorld struct {
	b       *testing.B
	r       *replica
	shop    *workload
	cluster *fakecluster.Cluster
	jobs    *seenJobs // by the commits of their runs
	commits int
}

// measure rolls out and notifies in turns. A watch tells when a Job exists: each list of Suites would wait for the API server's cache.
func (w *rolloutWorld) measure(n int, then func(seenJob)) (rolled, notified []time.Duration) {
	for range n {
		w.shop.Next()
		w.shop.deployed = w.next()
		w.shop.must(w.shop.Set)
		w.shop.must(w.shop.Complete)
		began := time.Now()
		job := w.job(w.shop.deployed)
		rolled = append(rolled, job.at.Sub(began))
		then(job)

		sha := w.next()
		body := fmt.Sprintf(`{"branch":%q,"sha":%q,"repository":"acme/other"}`, rolledBranch, sha)
		began = time.Now()
		if _, err := notify(w.b.Context(), w.r.URL+"/", w.shop.tm.key, body); err != nil {
			w.b.Fatal(err)
		}
		job = w.job(sha)
		notified = append(notified, job.at.Sub(began))
		then(job)
	}
	return rolled, notified
}

func (w *rolloutWorld) next() string {
	w.commits++
	return rolledCommit(w.commits)
}

func (w *rolloutWorld) job(commit string) (job seenJob) {
	poll.True(w.b, "the Job of "+commit+" exists", func() (seen bool) {
		job, seen = w.jobs.get(commit)
		return seen
	})
	return job
}

func (w *rolloutWorld) awaitEnd(job seenJob) {
	poll.True(w.b, "the run "+job.name+" has ended", func() bool { return !w.cluster.Run(w.shop.tm.namespace, job.name).Ended.IsZero() })
}

// testedCommit is the commit of the run of a Job in the Environment of the workload.
func testedCommit(j *batchv1.Job) string {
	variables := j.Spec.Template.Spec.Containers[0].Env
	i := slices.IndexFunc(variables, func(v corev1.EnvVar) bool { return v.Name == "POSTFLIGHT_SHA" })
	if i < 0 || j.Labels[v1alpha1.LabelEnvironment] != rolledEnvironment {
		return ""
	}
	return variables[i].Value
}

func medianMS(all []time.Duration) int64 {
	return slices.Sorted(slices.Values(all))[len(all)/2].Milliseconds()
}
