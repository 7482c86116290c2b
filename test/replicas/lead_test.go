package replicas

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestLeadLost: the API server is down for so long (45 s) that the leader loses its lease and exits. It still answers
// the notifications that it holds.
func TestLeadLost(t *testing.T) {
	s := apiserver.New(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	freeLead(t, s)
	r := replicas(t, s, p.kubeconfig(), 1)[0]
	tm.awaitKnown([]*replica{r})
	r.awaitLog("Successfully acquired lease", 10*time.Second)

	p.down()
	time.Sleep(25 * time.Second)
	c := &counts{}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.add(notify(t.Context(), r.url, tm.key, fmt.Sprintf(`{"branch":"main","sha":"%s"}`, "held")))
	}()
	r.awaitStop(40 * time.Second)
	p.up()
	<-answered
	if suites := len(tm.suites()); c.created != 1 || suites != 1 {
		t.Errorf("%s and %d Suites, want one created; e.g. %s", c, suites, c.first)
	}
}

// freeLead deletes the lease of processes that were killed.
func freeLead(t *testing.T, s *apiserver.Server) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}}
	if err := s.Client.Delete(t.Context(), lease); crclient.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// awaitStop waits until it takes no new requests.
func (r *replica) awaitStop(within time.Duration) {
	r.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(r.url)
		if err != nil {
			return
		}
		resp.Body.Close()
		if time.Now().After(deadline) {
			r.t.Fatalf("%s still serves after %s", r.url, within)
		}
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
