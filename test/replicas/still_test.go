package replicas

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestStoodStill: the process of the leader stands still for longer than its lease, as on a node that has no time for it, and nobody else
// takes the lease. Runs wait for it when it continues. It cannot know at once whether it still leads, starts them when it does, and does
// not fill its log until then.
func TestStoodStill(t *testing.T) {
	tier.All(t, "it waits for longer than a lease")
	s := apiserver.Alone(t)
	tm := newTeam(t, s)
	r := startLeader(t, s, newProxy(t, s.Manager(t)), "--leader-elect-lease-duration="+testLease.String())
	tm.awaitKnown([]*replica{r})
	r.Signal(syscall.SIGSTOP)
	began := time.Now()
	var runs []string
	for i := range 40 {
		runs = append(runs, tm.byHand(fmt.Sprintf("still-%d", i)))
	}
	time.Sleep(time.Until(began.Add(testLease + time.Second))) // that is the fault
	r.Signal(syscall.SIGCONT)
	for _, run := range runs {
		tm.awaitState(run, v1alpha1.ReasonStarting)
	}
	log, err := os.ReadFile(r.Log)
	if err != nil {
		t.Fatal(err)
	}
	refused := strings.Count(string(log), "does not lead any more")
	t.Logf("STOOD_STILL runs=%d refused=%d waits=%d terms=%d", len(runs), refused,
		strings.Count(string(log), "the lease was not renewed in time"), strings.Count(string(log), "this replica leads"))
	if refused > 0 {
		t.Errorf("the log says %d times that the replica does not lead", refused)
	}
}
