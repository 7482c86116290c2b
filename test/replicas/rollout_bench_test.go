package replicas

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
)

// BenchmarkRollout prints how long after a rollout was complete the Job of its run exists, beside how long that takes after a notification
// of the same Trigger. That counts the time in which the test asks for it, every hundredth of a second.
func BenchmarkRollout(b *testing.B) {
	const rollouts = 30
	s := apiserver.Alone(b)
	tm := newTeam(b, s)
	tm.unbind()
	shop := tm.newWorkload()
	f := &fakecluster.Cluster{Tests: chaosTests, Pods: true}
	f.Start(b, s)
	freeLead(b, s)
	r := startReplica(b, kubeconfigOf(b, s.Manager(b)))
	r.AwaitReady()
	tm.awaitKnown([]*replica{r})
	shop.awaitWatched()
	for b.Loop() {
		var rolled, notified []time.Duration
		for i := range rollouts {
			shop.Next()
			shop.deployed = rolledCommit(2*i + 1)
			shop.must(shop.Set)
			shop.must(shop.Complete)
			rolled = append(rolled, tm.untilJob(f, shop.deployed))
			sha := rolledCommit(2*i + 2)
			if _, err := notify(b.Context(), r.URL+"/", tm.key, fmt.Sprintf(`{"branch":%q,"sha":%q,"repository":"acme/other"}`, rolledBranch, sha)); err != nil {
				b.Fatal(err)
			}
			notified = append(notified, tm.untilJob(f, sha))
		}
		slices.Sort(rolled)
		slices.Sort(notified)
		fmt.Printf("ROLLOUT rollouts=%d to_job_median_ms=%d to_job_max_ms=%d notification_median_ms=%d notification_max_ms=%d\n", rollouts,
			rolled[rollouts/2].Milliseconds(), rolled[rollouts-1].Milliseconds(), notified[rollouts/2].Milliseconds(), notified[rollouts-1].Milliseconds())
	}
}

// untilJob waits until a commit has a run in the Environment of the workload, and that a Job.
func (tm *team) untilJob(f *fakecluster.Cluster, sha string) time.Duration {
	tm.t.Helper()
	began := time.Now()
	poll.True(tm.t, "the Job of "+sha+" exists", func() bool {
		for _, s := range tm.suites() {
			if s.Spec.Deployment.SHA == sha && s.Spec.Environment == rolledEnvironment && f.Run(s.Namespace, s.Name).Jobs > 0 {
				return true
			}
		}
		return false
	})
	return time.Since(began)
}
