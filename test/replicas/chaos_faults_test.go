package replicas

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// fleet are the replicas of one manager, each behind a proxy of its own, with a store behind another.
type fleet struct {
	t      *testing.T
	s      *apiserver.Server
	f      *fakecluster.Cluster
	hold   time.Duration
	store  *gate
	random *rand.Rand
	flags  []string // of each replica

	mu      sync.Mutex
	members []*member
}

// member is a replica that keeps its name and its proxy when it is killed and started again.
type member struct {
	name  string
	proxy *proxy
	*replica
}

// replicaClocks are how much the clocks of replicas are ahead when they start.
var replicaClocks = []time.Duration{0, time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second}

// startFleet starts two replicas.
func startFleet(
	t *testing.T, s *apiserver.Server, f *fakecluster.Cluster, random *rand.Rand, hold time.Duration, flags ...string,
) *fleet {
	t.Helper()
	stores.Credentials(t)
	store := stores.Rclone(t)
	fl := &fleet{t: t, s: s, f: f, hold: hold, flags: flags, random: random, store: newGate(t, store.Address)}
	for name, value := range map[string]string{
		"POSTFLIGHT_STORE_ENDPOINT": fl.store.url, "POSTFLIGHT_STORE_BUCKET": store.Options().Bucket,
		"POSTFLIGHT_STORE_CREATE_BUCKET": "true", "POSTFLIGHT_IMAGE": "none",
	} {
		t.Setenv(name, value)
	}
	systemNamespace(t, s)
	freeLead(t, s)
	for i := range 2 {
		m := &member{name: fmt.Sprintf("replica-%d", i), proxy: newProxy(t, s.Manager(t))}
		m.replica = fl.start(m, replicaClocks[i%len(replicaClocks)])
		fl.members = append(fl.members, m)
	}
	for _, m := range fl.members {
		m.AwaitReady()
	}
	return fl
}

func (fl *fleet) start(m *member, ahead time.Duration) *replica {
	return startWith(fl.t, managers.Options{
		Kubeconfig: m.proxy.kubeconfig(), Env: []string{"POSTFLIGHT_TEST_CLOCK_AHEAD=" + ahead.String()},
		Flags: append([]string{"--hold-budget=" + fl.hold.String(), "--pod-gone-after=" + podGone.String(), "--replica-name=" + m.name}, fl.flags...),
	})
}

func (fl *fleet) urls() (all []string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, m := range fl.members {
		all = append(all, m.URL)
	}
	return all
}

// leader is any member while none leads.
func (fl *fleet) leader() *member {
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = system, "postflight"
	if err := fl.s.Client.Get(fl.t.Context(), k8sclient.ObjectKeyFromObject(lease), lease); err == nil && lease.Spec.HolderIdentity != nil {
		for _, m := range fl.members {
			if m.name == *lease.Spec.HolderIdentity {
				return m
			}
		}
	}
	return fl.any()
}

func (fl *fleet) any() *member { return fl.members[fl.random.IntN(len(fl.members))] }

// fault is something that goes wrong for a while.
type fault struct {
	name   string
	inject func(fl *fleet, lasts time.Duration)
}

var faults = []fault{
	{"leader-killed", func(fl *fleet, _ time.Duration) { fl.restart(fl.leader(), 0) }},
	{"clock-step", func(fl *fleet, _ time.Duration) {
		fl.restart(fl.any(), replicaClocks[fl.random.IntN(len(replicaClocks))])
	}},
	{"node-lost", func(fl *fleet, _ time.Duration) {
		node := fakecluster.Nodes[fl.random.IntN(len(fakecluster.Nodes))]
		_ = poll.Wait(10*time.Second, "something runs on "+node, func() string { // or the fault has no effect
			if fl.f.LoseNode(node) == 0 {
				return "nothing does"
			}
			return ""
		})
	}},
	{"leader-cut-off", func(fl *fleet, lasts time.Duration) {
		p := fl.leader().proxy
		p.down()
		time.Sleep(lasts)
		p.up()
	}},
	{"api-server-restarted", func(fl *fleet, _ time.Duration) { fl.s.Outage(fl.t, func() {}) }},
	{"etcd-slow", func(fl *fleet, lasts time.Duration) {
		for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			fl.s.FreezeEtcd(fl.t, 100*time.Millisecond)
		}
	}},
	{"etcd-flapping", func(fl *fleet, lasts time.Duration) {
		for range 2 {
			fl.s.FreezeEtcd(fl.t, lasts/3)
			time.Sleep(lasts / 6)
		}
	}},
	{"store-away", func(fl *fleet, lasts time.Duration) {
		fl.store.shut.Store(true)
		time.Sleep(lasts)
		fl.store.shut.Store(false)
	}},
	{"watches-lag", func(fl *fleet, lasts time.Duration) {
		p := fl.any().proxy
		p.lags.Store(true)
		time.Sleep(lasts)
		p.lags.Store(false)
	}},
	{"too-many-requests", func(fl *fleet, lasts time.Duration) {
		busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		})
		p := fl.any().proxy
		p.refuse.Store(&busy)
		time.Sleep(lasts)
		p.refuse.Store(nil)
	}},
}

// restart kills a member, and starts it with another clock.
func (fl *fleet) restart(m *member, ahead time.Duration) {
	m.Kill()
	next := fl.start(m, ahead)
	next.AwaitReady()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	m.replica = next
}

// gate is an HTTP server in front of another, which breaks all connections while it is shut.
type gate struct {
	url  string
	shut atomic.Bool
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	pass := httputil.NewSingleHostReverseProxy(to) // keeps the host, which is part of signatures
	pass.ErrorLog = quiet
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = quiet
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}
