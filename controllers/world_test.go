package controllers_test

import (
	"cmp"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	announcecontroller "github.com/postflight-dev/postflight/controllers/announce"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// labelTest has the namespace of its test on each Team, which is in no namespace. Managers of other tests ignore it.
const labelTest = "postflight.dev/test"

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

// world is a namespace of a real API server, with a manager that is limited to it. The test acts as the other parts
// of a cluster: the Job controller, the kubelet and the garbage collector.
type world struct {
	*apiserver.Server
	t       testing.TB
	ns      string
	clock   *clockwork
	wire    *wire
	config  *rest.Config
	inputs  suitecontroller.InputsConfig
	tests   suitecontroller.Tests // of earlier runs; nil: there is no object store
	shelf   *shelf                // nil: there is no object store
	node    string                // of the pods
	hosts   reportcontroller.Config
	tells   announcecontroller.Config // nobody, by default
	bell    *bell                     // of rollouts; nil: no workload has notify
	starter *starter                  // of schedules; nil: no Trigger has one
	late    time.Duration             // at which a Job that no controller has changed is reported; 0: at once
	log     logr.LogSink              // of the manager; nil: silent
	metrics *prometheus.Registry      // of the manager

	reports     *reports                 // that the pods of runs upload; nil: there is no object store
	deployments deployedcontroller.Store // nil: there is none
	collector   *job.Collector           // of results; nil: there is none
	bounds      *bounded.Roster          // of the last manager's cache
	began       time.Time                // when the first Suite of this test was received
	stop        func()                   // the manager
}

// newWorld has a Team, an Environment "staging", a Trigger "smoke", and a manager.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	w.create(aTrigger("smoke"))
	w.startManager()
	w.began = longEnoughAgo()
	return w
}

// longEnoughAgo is when Suites are received, so that it is before they are created.
func longEnoughAgo() time.Time { return time.Now().Add(-35 * time.Second) }

func emptyWorld(t testing.TB) *world {
	t.Helper()
	s := apiserver.New(t)
	w := &world{Server: s, t: t, ns: s.Namespace(t), clock: &clockwork{}, node: "node", config: s.Manager(t), began: longEnoughAgo(), stop: func() {}}
	w.wire = &wire{namespace: w.ns}
	w.config.Wrap(w.wire.wrap)
	t.Cleanup(func() { w.stop() })
	return w
}

// hasTeam creates the Team of the namespace.
func (w *world) hasTeam(change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	w.t.Helper()
	team := aTeam(w.ns, "", change...)
	w.create(team)
	return team
}

// startManager runs a manager with its real rights and its real wiring, but only for the namespaces of this test, so
// that tests do not disturb each other.
func (w *world) startManager(others ...string) {
	w.t.Helper()
	w.runManager(w.cacheOptions(others...))
}

func (w *world) cacheOptions(others ...string) cache.Options {
	own, err := labels.NewRequirement(corev1.LabelMetadataName, selection.In, append(others, w.ns))
	w.must(err)
	options := controllers.CacheOptions(w.newBounds())
	options.ByObject[&v1alpha1.Team{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelTest: w.ns})}
	options.ByObject[&corev1.Namespace{}] = cache.ByObject{Label: labels.NewSelector().Add(*own)}
	options.DefaultNamespaces = map[string]cache.Config{w.ns: {}}
	for _, ns := range others {
		options.DefaultNamespaces[ns] = cache.Config{}
	}
	return options
}

func (w *world) newBounds() *bounded.Roster {
	w.bounds = bounded.New()
	return w.bounds
}

// controllers is what they are set up with.
func (w *world) controllers(mgr ctrl.Manager) controllers.Config {
	w.metrics = prometheus.NewRegistry()
	metrics, err := controllers.NewMetrics(w.metrics, mgr.GetCache(), fairness.NewLabels(2), w.clock)
	w.must(err)
	if w.starter != nil {
		w.must(w.starter.serves(mgr))
	}
	documents, collector := w.reports.config()
	return controllers.Config{
		Documents: documents, Collector: cmp.Or(w.collector, collector),
		Clock: w.clock, Metrics: metrics, Inputs: w.inputs, Image: "postflight:test", Tests: w.tests,
		Archive: w.archive(), Reports: w.hosts, Announce: w.tells,
		UntouchedFor: cmp.Or(w.late, time.Nanosecond), Notifier: w.bell, Schedules: w.starter, Deployments: w.deployments, Bounds: w.bounds,
	}
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
		if _, ofCluster := o.(*v1alpha1.Team); ofCluster {
			o.SetLabels(map[string]string{labelTest: w.ns})
		} else if o.GetNamespace() == "" {
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
	poll.Until(w.t, what, check)
}
