package replicas

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// testLease is short, so that the tests are. BenchmarkLead has the default.
const testLease = 4 * time.Second

// TestLeadLost: the API server is away for so long that the leader loses the lead. The process does not end: it answers
// the notification that it holds and the client that waits for a run, leads again, and starts the next run.
func TestLeadLost(t *testing.T) {
	s := apiserver.New(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	r := startLeader(t, s, p, "sh", "-c", `exec "$@" --leader-elect-lease-duration=`+testLease.String(), "sh")
	tm.awaitKnown([]*replica{r})

	run := tm.started(r, "run")
	waited := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		if status := tm.askGreenlight(r, run+"?wait=50"); status != http.StatusOK {
			t.Errorf("the client that waited got %d", status)
		}
		waited <- time.Since(began)
	}()
	p.down()
	c := &counts{}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.add(notify(t.Context(), r.url, tm.key, alone("held")))
	}()
	r.awaitLog("has lost the lead", time.Minute)
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
	if took := <-waited; took > 49*time.Second {
		t.Errorf("the client was not told of the end: it waited for %s", took)
	}
}

// TestLeadTakenOver: a leader is killed, and the next one is stopped. Each time another replica starts the next run.
func TestLeadTakenOver(t *testing.T) {
	s := apiserver.New(t)
	takenOver(t, s, testLease)
}

// BenchmarkLead takes the default lease.
func BenchmarkLead(b *testing.B) {
	s := apiserver.New(b)
	for b.Loop() {
		takenOver(b, s, 14*time.Second)
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
		all[name] = startReplica(t, kubeconfig, "sh", "-c", fmt.Sprintf(`exec "$@" --replica-name=%s --leader-elect-lease-duration=%s`, name, lease), "sh")
	}
	for _, r := range all {
		r.awaitReady()
		tm.awaitKnown([]*replica{r})
	}
	took := map[syscall.Signal]time.Duration{}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		leader := tm.awaitLeader(all)
		if err := all[leader].cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
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
	await(tm.t, "a leader", func() bool {
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

func (r *replica) awaitLog(text string, within time.Duration) {
	r.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		content, err := os.ReadFile(r.log)
		if err == nil && strings.Contains(string(content), text) {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s does not say %q after %s", r.url, text, within)
		}
	}
}
