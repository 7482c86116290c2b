package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	rolledEnvironment = "rolled" // only what its workload rolls out is tested there
	rolledBranch      = "rolled"

	rolloutTime = 300 * time.Millisecond // at most
)

// workload is rolled out, restarted and taken back at random.
type workload struct {
	tm *team
	fakecluster.Deployment

	deployed string
	rollouts []history.Rollout
}

// newWorkload has a first commit, before an Environment names it.
func (tm *team) newWorkload() *workload {
	tm.t.Helper()
	w := &workload{tm: tm, Deployment: fakecluster.Deployment{Client: tm.s.Client, Namespace: tm.namespace, Name: "shop"}}
	tm.create(&rbacv1.RoleBinding{
		ObjectMeta: tm.meta("workloads"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-workloads-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "postflight-manager"}},
	})
	w.Next()
	w.deployed = rolledCommit(0)
	w.must(w.Set)
	w.must(w.Complete)
	e := &v1alpha1.Environment{ObjectMeta: tm.meta(rolledEnvironment)}
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop", Repository: "acme/shop", Branch: &v1alpha1.WorkloadValue{Value: rolledBranch}, Notify: true}}
	tm.create(e)
	t := tm.trigger("rolled")
	t.Spec.Environment, t.Spec.Results, t.Spec.Match.Branches = rolledEnvironment, &v1alpha1.Results{}, []string{rolledBranch}
	tm.create(t)
	return w
}

// awaitWatched waits until the status of the Environment has the commit that is deployed, and whoever cares was notified of it.
func (w *workload) awaitWatched() {
	w.tm.t.Helper()
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: w.tm.namespace, Name: rolledEnvironment}}
	poll.True(w.tm.t, "the Environment has the commit of its workload", func() bool {
		w.tm.get(e)
		d := e.Status.Deployed
		return len(d) == 1 && d[0].SHA == w.deployed && d[0].Notification != v1alpha1.NotificationPending
	})
}

func rolledCommit(n int) string { return fmt.Sprintf("%08x%032x", 0xabc00000+n, n) }

// must repeats a step until the API server has answered.
func (w *workload) must(step func(context.Context, string) error) {
	err := poll.Wait(answerWithin, "the Deployment is written", func() string {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := step(ctx, w.deployed); err != nil {
			return err.Error()
		}
		return ""
	})
	if err != nil {
		w.tm.t.Error(err)
	}
}

// run rolls out until ctx is done, and leaves a complete rollout behind.
func (w *workload) run(ctx context.Context, random *rand.Rand) {
	for n := 1; ctx.Err() == nil; n++ {
		switch random.IntN(10) {
		case 0: // a restart
			w.Next()
			w.must(w.Set)
			w.must(w.Complete)
		case 1, 2: // an earlier commit
			w.rollOut(rolledCommit(max(0, n-1-random.IntN(3))), true, random)
		case 3: // it fails, and is taken back
			before := w.deployed
			w.rollOut(rolledCommit(n), false, random)
			w.rollOut(before, true, random)
		default:
			w.rollOut(rolledCommit(n), true, random)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(random.IntN(2000)) * time.Millisecond):
		}
	}
}

func (w *workload) rollOut(commit string, completes bool, random *rand.Rand) {
	if commit == w.deployed {
		return
	}
	r := history.Rollout{Commit: commit, Sent: time.Now()}
	w.Next()
	w.deployed = commit
	w.must(w.Set)
	r.Changed = time.Now()
	time.Sleep(time.Duration(random.Int64N(int64(rolloutTime))))
	if completes {
		w.must(w.Complete)
		r.Completed = time.Now()
	}
	w.rollouts = append(w.rollouts, r)
}
