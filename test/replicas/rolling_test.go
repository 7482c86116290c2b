package replicas

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	// rollingRate is how many notifications arrive in a second.
	rollingRate = 33

	// unnoticed is how long load balancers go on sending to a replica that is being stopped.
	unnoticed = time.Second
)

// TestUpgradeAndDowngrade: both replicas are replaced, one after the other, by those of another version, and back. Every
// notification is answered, and each gets one run. The other version is this one, too, unless POSTFLIGHT_E2E_FULL is
// set: then it is built from $POSTFLIGHT_PREVIOUS, by default the last commit, and its CRDs are those at the beginning and
// at the end.
func TestUpgradeAndDowngrade(t *testing.T) {
	tier.All(t, "it sends 33 notifications a second while replicas are replaced")
	s, old := apiserver.Alone(t), version{}
	if os.Getenv("POSTFLIGHT_E2E_FULL") == "1" {
		old = previous(t)
		s = apiserver.Own(t, apiserver.Options{CRDs: old.crds})
	}
	systemNamespace(t, s)
	freeLead(t, s)
	tm := newTeam(t, s)
	tm.unbind()
	b := &balancer{tm: tm, kubeconfig: kubeconfigOf(t, s.Manager(t))}
	b.add(old)
	b.add(old)
	tm.awaitNotifiable(b.all)

	over := make(chan struct{})
	sent := make(chan *counts)
	go func() { sent <- b.load(over) }()
	for i, next := range []version{{}, old} {
		if old.crds != "" && i == 0 {
			b.apply(crds(t, ""))
		}
		for range 2 {
			b.replace(next)
		}
		tm.awaitState(tm.byHand(fmt.Sprintf("after-%d", i)), v1alpha1.ReasonStarting) // the new version leads
		if old.crds != "" && i == 1 {
			b.apply(old.crds)
		}
	}
	close(over)
	c := <-sent
	fmt.Printf("UPGRADE_AND_DOWNGRADE replaced=4 per_second=%d %s longest=%s\n", rollingRate, c, c.percentile(1).Round(time.Millisecond))
	if sent := len(c.times); c.created != sent || len(c.ids) != sent {
		t.Errorf("%d notifications: %s, %d runs, want a run for each; e.g. %s", sent, c, len(c.ids), c.first)
	}
	for id, n := range c.ids {
		if n != 1 {
			t.Errorf("%d notifications got the run %s", n, id)
		}
	}
}

// version is what replicas are of; the zero value is the version that is tested.
type version struct{ manager, crds string }

// previous builds an earlier version.
func previous(t *testing.T) version {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	sources := filepath.Join(t.TempDir(), "sources")
	revision := cmp.Or(os.Getenv("POSTFLIGHT_PREVIOUS"), "HEAD~1")
	sh(t, root, fmt.Sprintf("mkdir %[1]s && git archive %[2]s | tar -x -C %[1]s", sources, revision))
	sh(t, sources, "go build -o manager ./cmd/manager")
	return version{filepath.Join(sources, "manager"), filepath.Join(sources, "config", "crd", "bases")}
}

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// balancer sends notifications to replicas by turns, as a Service does.
type balancer struct {
	tm         *team
	kubeconfig string

	mu   sync.Mutex
	all  []*replica // the oldest first
	turn int
}

// add starts a replica, which gets notifications once it is ready.
func (b *balancer) add(v version) {
	b.tm.t.Helper()
	drain := 3 * unnoticed
	r := startWith(b.tm.t, managers.Options{Kubeconfig: b.kubeconfig, Binary: v.manager, Flags: []string{"--drain-delay=" + drain.String()}})
	r.AwaitReady()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, r)
}

// replace starts another replica, and then stops the oldest, as a Deployment does.
func (b *balancer) replace(by version) {
	b.tm.t.Helper()
	b.add(by)
	oldest := b.all[0]
	oldest.Terminate()
	time.Sleep(unnoticed)
	b.mu.Lock()
	b.all = b.all[1:]
	b.mu.Unlock()
	oldest.Wait()
}

func (b *balancer) next() *replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.all[b.turn%len(b.all)]
}

// load sends notifications, each with a commit of its own.
func (b *balancer) load(over <-chan struct{}) *counts {
	return loadAtRate(over, func(n int) (answer, error) {
		return notify(b.tm.t.Context(), b.next().URL, b.tm.key, fmt.Sprintf(`{"branch":"main","sha":"rolling-%d"}`, n))
	})
}

// loadAtRate sends something rollingRate times a second, until over is closed and all are answered.
func loadAtRate(over <-chan struct{}, send func(n int) (answer, error)) *counts {
	c := &counts{}
	var wait sync.WaitGroup
	defer wait.Wait()
	ticker := time.NewTicker(time.Second / rollingRate)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-over:
			return c
		case <-ticker.C:
		}
		wait.Go(func() { c.add(send(n)) })
	}
}

func (b *balancer) apply(folder string) {
	b.tm.t.Helper()
	if _, err := b.tm.s.Kubectl(b.tm.t, "apply", "--server-side", "--force-conflicts", "-f", folder); err != nil {
		b.tm.t.Error(err)
	}
}
