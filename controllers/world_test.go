package controllers_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/index"
	"github.com/postflight-dev/postflight/internal/teamlabel"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// patience is how long a test waits for changes that normally take milliseconds, because the machine may be busy.
const patience = time.Minute

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

// world is a namespace of a real API server, with a manager that is limited to it. The test acts as the other parts
// of a cluster: the Job controller, the kubelet and the garbage collector.
type world struct {
	*apiserver.Server
	t      testing.TB
	ns     string
	clock  *clockwork
	wire   *wire
	config *rest.Config
	inputs controllers.InputsConfig
	shelf  *shelf // nil: there is no object store
	slow   bool   // the object store
	node   string // of the pods
	hosts  controllers.ReportConfig
	tells  controllers.AnnounceConfig // nobody, by default
	log    logr.LogSink               // of the manager; nil: silent
	began  time.Time                  // noon of this test: so long ago that its Suites are received before they are created
	stop   func()                     // the manager
}

// newWorld has a Team, an Environment "staging", a Trigger "smoke", and a manager.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	w.create(aTrigger("smoke"))
	w.startManager()
	return w
}

func emptyWorld(t testing.TB) *world {
	t.Helper()
	s := apiserver.New(t)
	w := &world{Server: s, t: t, ns: s.Namespace(t), clock: &clockwork{}, node: "node", config: s.Manager(t), began: time.Now().Add(-35 * time.Second), stop: func() {}}
	w.wire = &wire{namespace: w.ns}
	w.config.Wrap(w.wire.wrap)
	t.Cleanup(func() { w.stop() })
	return w
}

// hasTeam creates the Team of the namespace.
func (w *world) hasTeam(change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	w.t.Helper()
	team := aTeam(w.ns, "", change...)
	w.must(w.Client.Create(context.Background(), team))
	return team
}

// startManager runs a manager with its real rights and its real wiring, but only for the namespaces of this test, so
// that tests do not disturb each other.
func (w *world) startManager(others ...string) {
	w.t.Helper()
	w.runManager(w.cacheOptions(others...))
}

func (w *world) cacheOptions(others ...string) cache.Options {
	options := controllers.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.ns: {}}
	for _, ns := range others {
		options.DefaultNamespaces[ns] = cache.Config{}
	}
	return options
}

// controllers is what they are set up with.
func (w *world) controllers(mgr ctrl.Manager) controllers.Config {
	metrics, err := controllers.NewMetrics(prometheus.NewRegistry(), mgr.GetCache(), teamlabel.New(2))
	w.must(err)
	return controllers.Config{Clock: w.clock, Metrics: metrics, Inputs: w.inputs, Archive: w.archive(), Reports: w.hosts, Announce: w.tells}
}

func (w *world) runManager(cache cache.Options, change ...func(*ctrl.Options)) ctrl.Manager {
	w.t.Helper()
	mgr := w.newManager(cache, change...)
	w.must(controllers.Setup(mgr, w.controllers(mgr)))
	w.run(mgr)
	return mgr
}

// newManager has no controllers yet.
func (w *world) newManager(cache cache.Options, change ...func(*ctrl.Options)) ctrl.Manager {
	w.t.Helper()
	options := ctrl.Options{
		Scheme:     w.Scheme,
		Cache:      cache,
		Client:     controllers.ClientOptions(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // of other tests' managers
		Logger:     w.logger(),
	}
	for _, c := range change {
		c(&options)
	}
	mgr, err := ctrl.NewManager(w.config, options)
	w.must(err)
	w.must(index.Setup(context.Background(), mgr.GetFieldIndexer()))
	return mgr
}

// run returns when the caches of the manager are full.
func (w *world) run(mgr ctrl.Manager) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the manager ended with %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		w.t.Fatal("the caches of the manager did not fill")
	}
}

// logger is silent by default, because failures of these tests are easier to explain from the objects.
func (w *world) logger() logr.Logger {
	if w.log != nil {
		return logr.New(w.log)
	}
	if t, ok := w.t.(*testing.T); ok && os.Getenv("POSTFLIGHT_TEST_LOG") != "" {
		return testr.New(t)
	}
	return logr.Discard()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(w.ns)
		}
		if s, ok := o.(*v1alpha1.Suite); ok {
			w.arrives(s)
		}
		w.must(w.Client.Create(context.Background(), o))
	}
}

// eventually waits until check returns "".
func (w *world) eventually(what string, check func() (complaint string)) {
	w.t.Helper()
	w.within(patience, what, check)
}

func (w *world) within(patience time.Duration, what string, check func() (complaint string)) {
	w.t.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if last = check(); last == "" {
			return
		}
	}
	w.t.Fatalf("after %s still not: %s\nthe last seen: %s", patience, what, last)
}

// clockwork is a real clock that the test can move forward.
type clockwork struct {
	mu    sync.Mutex
	ahead time.Duration
}

var _ clock.PassiveClock = &clockwork{}

func (c *clockwork) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clockwork) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *clockwork) moveOn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// wire counts the requests of the manager to the API server. It leaves out those about other namespaces: the Teams of other
// tests are in the same cluster.
type wire struct {
	namespace string

	mu   sync.Mutex
	sent map[string]int // by method, resource and subresource, such as "PATCH suites/status"
	all  int

	refused string // part of the URL of requests that are not sent; empty: none
}

// refuse makes requests fail whose URL has a text.
func (x *wire) refuse(part string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refused = part
}

func (x *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if x.takes(r) {
			return nil, errors.New("refused")
		}
		return next.RoundTrip(r)
	})
}

// takes counts a request, and reports whether it is refused.
func (x *wire) takes(r *http.Request) (refused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, rest, namespaced := strings.Cut(r.URL.Path, "/namespaces/")
	if !namespaced || strings.HasPrefix(rest, x.namespace+"/") {
		if x.sent == nil {
			x.sent = map[string]int{}
		}
		x.sent[r.Method+" "+resourceOf(r.URL.Path)]++
		x.all++
	}
	return x.refused != "" && strings.Contains(r.URL.String(), x.refused)
}

// resourceOf is the resource, and the subresource, in the path of a request about namespaced objects.
func resourceOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/") // the namespace, the resource, the name, the subresource
	switch {
	case len(parts) < 2:
		return path
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	default:
		return parts[1]
	}
}

func (x *wire) count(request string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent[request]
}

// perSecond counts the requests of the manager for a while in which nothing changes.
func (x *wire) perSecond() float64 {
	const while = 3 * time.Second
	count := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.all
	}
	before := count()
	time.Sleep(while)
	return float64(count()-before) / while.Seconds()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
