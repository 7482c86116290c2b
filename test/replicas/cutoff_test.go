package replicas

import (
	"net/http"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// held is the hold budget of the replicas of TestCutOff.
const held = 15 * time.Second

// TestCutOff: a replica that cannot reach the API server stops being ready once a new notification would time out, and
// is ready again with the next answer. The other one stays ready.
func TestCutOff(t *testing.T) {
	s := apiserver.New(t)
	p := newProxy(t, s.Manager(t))
	systemNamespace(t, s)
	holds := []string{"sh", "-c", `exec "$@" --hold-budget=` + held.String(), "sh"}
	cut, other := startReplica(t, p.kubeconfig(), holds...), startReplica(t, kubeconfigOf(t, s.Manager(t)), holds...)
	cut.awaitReady()
	other.awaitReady()

	p.down()
	lost := cut.awaitReadiness(false, held+5*time.Second)
	if !other.isReady() {
		t.Error("the other replica is not ready")
	}
	p.up()
	found := cut.awaitReadiness(true, 5*time.Second)
	t.Logf("CUT_OFF hold_budget=%s not_ready_after_seconds=%.1f ready_again_after_seconds=%.1f", held, lost.Seconds(), found.Seconds())
	if lost < held/2 || lost > held+time.Second {
		t.Errorf("not ready after %s, want about %s", lost, held)
	}
}

func (r *replica) isReady() bool {
	resp, err := http.Get(r.probes + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// awaitReadiness returns how long it took.
func (r *replica) awaitReadiness(ready bool, within time.Duration) time.Duration {
	r.t.Helper()
	began := time.Now()
	for ; r.isReady() != ready; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > within {
			r.t.Fatalf("%s: ready is not %t after %s", r.url, ready, within)
		}
	}
	return time.Since(began)
}
