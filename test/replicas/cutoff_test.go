package replicas

import (
	"fmt"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// held is the hold budget of the replicas of TestCutOff.
const held = 15 * time.Second

// TestCutOff: a replica that cannot reach the API server stops being ready once a new notification would time out, and
// is ready again with the next answer. The other one stays ready.
func TestCutOff(t *testing.T) {
	tier.All(t, "it waits until a new notification would time out")
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	systemNamespace(t, s)
	holds := "--hold-budget=" + held.String()
	cut, other := startReplica(t, p.kubeconfig(), holds), startReplica(t, kubeconfigOf(t, s.Manager(t)), holds)
	cut.AwaitReady()
	other.AwaitReady()

	tier.AtMost(t, "a replica that is cut off stops being ready", held+time.Second, func() time.Duration {
		p.down()
		lost := cut.awaitReadiness(false)
		if !other.Ready() {
			t.Error("the other replica is not ready")
		}
		p.up()
		found := cut.awaitReadiness(true)
		t.Logf("CUT_OFF hold_budget=%s not_ready_after_seconds=%.1f ready_again_after_seconds=%.1f", held, lost.Seconds(), found.Seconds())
		if lost < held/2 {
			t.Errorf("not ready after %s, want about %s", lost, held)
		}
		return lost
	})
}

// awaitReadiness returns how long it took.
func (r *replica) awaitReadiness(ready bool) time.Duration {
	r.t.Helper()
	began := time.Now()
	poll.True(r.t, fmt.Sprintf("ready=%t at %s", ready, r.URL), func() bool { return r.Ready() == ready })
	return time.Since(began)
}
