package replicas

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

// What another team gets while one attacks, beside the answers to its notifications, which come promptly.
const (
	statusWithin = 2 * time.Second        // of each new Environment
	pageWithin   = 500 * time.Millisecond // half of them
)

// TestHostileTeam runs the manager with the memory limit of its container. A team does at once what its key and the role edit let it do:
// costly expressions, a long history, large objects, events that stall, and a TrustPolicy for the jobs of the other team. Another team must
// not notice, and the process must survive. In the gate, there are fewer large objects, and no times are compared.
func TestHostileTeam(t *testing.T) {
	s := apiserver.Alone(t)
	memory, bucket := newCgroup(t, containerMemory), hostileStore(t)
	systemNamespace(t, s)
	freeLead(t, s)
	bad, good, load := newAttacker(t, s), newNeighbor(t, s), newHostileLoad()
	bad.keepHistory(bucket, load.days)
	bad.trusts(good.ci, "repository_owner_id", "12") // and so all jobs of the other team
	r := startWith(t, managers.Options{
		Kubeconfig: kubeconfigOf(t, s.Manager(t)), Within: memory.run(),
		Flags: []string{listIssuer(t, good.ci)},
		Env:   []string{"KUBE_CACHE_MUTATION_DETECTOR=false"}, // or it would keep two of each object
	})
	r.AwaitReady()
	good.awaitServed(t, r)
	bad.awaitKnown([]*replica{r})

	measure := func(when string, d time.Duration) figures {
		f, process := good.measure(d), 0
		if !r.Ended() {
			process = r.peakMiB()
		}
		fmt.Printf("HOSTILE when=%s %s process_peak_mib=%d cgroup_peak_mib=%d limit_mib=%d kills=%d\n",
			when, f, process, memory.peakMiB(), containerMemory>>20, memory.kills())
		f.checkAnswers(t)
		return f
	}
	alone, attacked := 10*time.Second, 30*time.Second
	if tier.Gate() {
		alone, attacked = 2*time.Second, 10*time.Second
	}
	measure("before", alone)
	stop := bad.attack(r, load, bad.createObjects(load))
	defer stop()
	during := func() figures { return measure("during", attacked) }
	first := during()
	fmt.Println(bad) // it shows whether there was an attack at all
	if !tier.Gate() && !r.Ended() {
		first.checkTimes(t, sync.OnceValue(during))
		r.Restart()
		good.awaitKnown([]*replica{r})
		fmt.Printf("HOSTILE_RESTART process_peak_mib=%d cgroup_peak_mib=%d kills=%d\n", r.peakMiB(), memory.peakMiB(), memory.kills())
	}
	if memory.kills() > 0 || r.Ended() {
		t.Errorf("the kernel killed %d processes for their memory; the manager has ended: %v", memory.kills(), r.Ended())
	}
}

// hostileStore lets the manager keep its archive, and bounds the memory that it uses.
func hostileStore(t *testing.T) *objectstore.Bucket {
	t.Helper()
	store := stores.Rclone(t)
	stores.Credentials(t)
	bucket := store.Bucket(t)
	for name, value := range map[string]string{
		"POSTFLIGHT_STORE_ENDPOINT": store.Address, "POSTFLIGHT_STORE_BUCKET": store.Options().Bucket, "POSTFLIGHT_IMAGE": "none",
		"GOMEMLIMIT": goMemoryLimit,
	} {
		t.Setenv(name, value)
	}
	return bucket
}
