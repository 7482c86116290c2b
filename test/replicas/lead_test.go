package replicas

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// testLease is short, so that the tests are. BenchmarkLead has the default.
const testLease = 4 * time.Second

// TestLeadLost: the API server is unavailable for so long that the leader loses the lead. The process does not end: it answers
// the notification that it holds and the client that waits for a run, leads again, and starts the next run.
func TestLeadLost(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	r := startLeader(t, s, p, "--leader-elect-lease-duration="+testLease.String())
	tm.awaitKnown([]*replica{r})

	run := tm.started(r, "run")
	waited := make(chan int, 1)
	go func() { waited <- tm.awaitGreenlight(r, run) }()
	p.down()
	c := &counts{}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.add(notify(t.Context(), r.URL, tm.key, alone("held")))
	}()
	r.AwaitLog("has lost the lead")
	p.up()
	up := time.Now()
	<-answered
	if suites := len(tm.suites()); c.created != 1 || suites != 2 {
		t.Fatalf("%s and %d Suites, want one created, and two; e.g. %s", c, suites, c.first)
	}
	for id := range c.ids {
		tm.awaitState(id, v1alpha1.ReasonStarting)
	}
	t.Logf("LEAD_LOST lease=%s held_seconds=%.1f started_after_seconds=%.1f", testLease, c.percentile(1).Seconds(), time.Since(up).Seconds())
	tm.complete(run)
	tm.awaitState(run, v1alpha1.ReasonPassed)
	if asked := <-waited; asked > 1 && !tier.Gate() {
		t.Errorf("the client that waited was told of the end after %d questions, want 1", asked)
	}
}

// awaitGreenlight asks until the run is over, by requests that wait for that. It returns how many it took.
func (tm *team) awaitGreenlight(r *replica, run string) (asked int) {
	err := poll.Wait(poll.Limit, "the client that waits is told of the end", func() string {
		var g httpapi.Greenlight
		asked++
		if status := tm.call(http.MethodGet, r.URL+"/api/v0/ci-greenlight/"+run+"?wait=50", "", &g); status != http.StatusOK {
			tm.t.Errorf("the client that waits got %d", status)
		}
		if g.RunStage == httpapi.Initializing {
			return "it is " + string(g.RunStage)
		}
		return ""
	})
	if err != nil {
		tm.t.Error(err)
	}
	return asked
}

// TestLeadTakenOver: a leader is killed, and the next one is stopped. Each time another replica starts the next run.
func TestLeadTakenOver(t *testing.T) {
	s := apiserver.Alone(t)
	takenOver(t, s, testLease)
}

// BenchmarkLead takes the default lease.
func BenchmarkLead(b *testing.B) {
	s := apiserver.Alone(b)
	for b.Loop() {
		takenOver(b, s, 6*time.Second)
	}
}

func takenOver(t testing.TB, s *apiserver.Server, lease time.Duration) {
	t.Helper()
	tm := newTeam(t, s)
	systemNamespace(t, s)
	freeLead(t, s)
	kubeconfig := kubeconfigOf(t, s.Manager(t))
	all := map[string]*replica{}
	for i := range 3 {
		name := fmt.Sprintf("replica-%d", i)
		all[name] = startReplica(t, kubeconfig, "--replica-name="+name, "--leader-elect-lease-duration="+lease.String())
	}
	for _, r := range all {
		r.AwaitReady()
		tm.awaitKnown([]*replica{r})
	}
	took := map[syscall.Signal]time.Duration{}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		leader := tm.awaitLeader(all)
		all[leader].Signal(signal)
		began := time.Now()
		delete(all, leader)
		run := tm.byHand(fmt.Sprintf("after-%d", signal))
		tm.awaitState(run, v1alpha1.ReasonStarting)
		took[signal] = time.Since(began)
	}
	fmt.Printf("TAKE_OVER lease=%s killed_seconds=%.1f stopped_seconds=%.1f\n", lease, took[syscall.SIGKILL].Seconds(), took[syscall.SIGTERM].Seconds())
}

// awaitLeader returns the name of the replica that holds the lease.
func (tm *team) awaitLeader(all map[string]*replica) (leader string) {
	tm.t.Helper()
	poll.True(tm.t, "a leader", func() bool {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}}
		tm.get(lease)
		if lease.Spec.HolderIdentity != nil {
			leader = *lease.Spec.HolderIdentity
		}
		return all[leader] != nil
	})
	return leader
}

// freeLead deletes the lease of processes that were killed.
func freeLead(t testing.TB, s *apiserver.Server) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}}
	if err := s.Client.Delete(t.Context(), lease); crclient.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}
