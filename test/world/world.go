// Package world gives tests of controllers a namespace of a real API server and a manager for it. The test acts as the rest
// of a cluster: it starts and ends pods and Jobs, and it is the store, the code hosts and the receivers.
//
//	func TestMain(m *testing.M) { world.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		w := world.New(t)
//		w.Create(build.Suite("run", 0))
//		w.Runs("run")
//		…
//	}
package world

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	archivecontroller "github.com/postflight-dev/postflight/controllers/archive"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	gatecontroller "github.com/postflight-dev/postflight/controllers/deploymentgate"
	"github.com/postflight-dev/postflight/controllers/eventsource"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
)

// LabelTest has the namespace of its test on each Team, which is in no namespace. Managers of other tests ignore it.
const LabelTest = "postflight.dev/test"

// Main runs the tests of a package that has such worlds.
func Main(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

// World is a namespace of a real API server, with a manager that is limited to it. The test acts as the other parts
// of a cluster: the Job controller, the kubelet and the garbage collector.
type World struct {
	*apiserver.Server
	T             testing.TB
	NS            string
	Clock         *Clock
	Wire          *Wire
	ManagerConfig *rest.Config
	Inputs        suitecontroller.InputsConfig
	Tests         suitecontroller.Tests    // of earlier runs; nil: there is no object store
	Archive       *Archive                 // nil: there is no object store
	Signer        archivecontroller.Signer // nil: verdicts are not signed
	NodeName      string                   // of the pods
	CodeHosts     reportcontroller.Config
	Approvers     map[v1alpha1.HostingService]gatecontroller.CodeHostConfig // that ask DeploymentGates
	Announce      announcecontroller.Config                                 // no receivers by default
	Notifier      *Notifier                                                 // of rollouts; nil: no workload has notify
	Schedules     *Schedules                                                // of schedules; nil: no Trigger has one
	UntouchedFor  time.Duration                                             // at which a Job that no controller has changed is reported; 0: at once
	Log           logr.LogSink                                              // of the manager; nil: silent
	Metrics       *prometheus.Registry                                      // of the manager

	Reports     *Reports                 // that the pods of runs upload; nil: there is no object store
	Deployments deployedcontroller.Store // nil: there is none
	Collector   *job.Collector           // of results; nil: there is none
	Bounds      *bounded.Roster          // of the last manager's cache
	Began       time.Time                // when the first Suite of this test was received
	Stop        func()                   // the manager
	cached      client.Reader            // what the running manager has read; nil: none runs
}

// New has a Team, an Environment "staging", a Trigger "smoke", and a manager.
func New(t *testing.T) *World {
	t.Helper()
	w := Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"))
	w.Create(build.Trigger("smoke"))
	w.StartManager()
	w.Began = longEnoughAgo()
	return w
}

// longEnoughAgo is when Suites are received, so that it is before they are created.
func longEnoughAgo() time.Time { return time.Now().Add(-35 * time.Second) }

// Empty has a namespace alone, and no manager yet.
func Empty(t testing.TB) *World {
	t.Helper()
	s := apiserver.New(t)
	w := &World{
		Server: s, T: t, NS: s.Namespace(t), Clock: &Clock{}, NodeName: "node", ManagerConfig: s.Manager(
			t), Began: longEnoughAgo(), Stop: func() {},
	}
	w.Wire = &Wire{namespace: w.NS}
	w.ManagerConfig.Wrap(w.Wire.wrap)
	t.Cleanup(func() { w.Stop() })
	return w
}

// HasTeam creates the Team of the namespace.
func (w *World) HasTeam(change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	w.T.Helper()
	team := build.Team(w.NS, "", change...)
	w.Create(team)
	return team
}

// StartManager runs a manager with its real rights and its real wiring, but only for the namespaces of this test, so
// that tests do not disturb each other.
func (w *World) StartManager(others ...string) {
	w.T.Helper()
	w.RunManager(w.CacheOptions(others...))
}

// CacheOptions limit a manager to the namespace of this test, and to others.
func (w *World) CacheOptions(others ...string) cache.Options {
	own, err := labels.NewRequirement(corev1.LabelMetadataName, selection.In, append(others, w.NS))
	w.Must(err)
	options := controllers.CacheOptions(w.NewBounds())
	options.ByObject[&v1alpha1.Team{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{LabelTest: w.NS})}
	options.ByObject[&corev1.Namespace{}] = cache.ByObject{Label: labels.NewSelector().Add(*own)}
	options.DefaultNamespaces = map[string]cache.Config{w.NS: {}}
	for _, ns := range others {
		options.DefaultNamespaces[ns] = cache.Config{}
	}
	return options
}

// NewBounds is for another cache.
func (w *World) NewBounds() *bounded.Roster {
	w.Bounds = bounded.New()
	return w.Bounds
}

// Controllers is what they are set up with.
func (w *World) Controllers(mgr ctrl.Manager) controllers.Config {
	w.Metrics = prometheus.NewRegistry()
	metrics, err := controllers.NewMetrics(w.Metrics, mgr.GetCache(), fairness.NewLabels(2), w.Clock)
	w.Must(err)
	if w.Schedules != nil {
		w.Must(w.Schedules.serves(mgr))
	}
	documents, collector := w.Reports.config()
	return controllers.Config{
		Documents: documents, Collector: cmp.Or(w.Collector, collector),
		Clock: w.Clock, Metrics: metrics, Inputs: w.Inputs, Image: "postflight:test", Tests: w.Tests,
		Archive: w.archive(), Reports: w.CodeHosts, Announce: w.Announce,
		UntouchedFor: cmp.Or(w.UntouchedFor, time.Nanosecond), Notifier: w.Notifier, Schedules: w.Schedules,
		Deployments: w.Deployments, Bounds: w.Bounds, Events: eventsource.Config{Formats: formats},
		Gates: gatecontroller.Config{
			Hosts: w.Approvers, PublicURL: w.CodeHosts.PublicURL, Opener: events.Reviews{Cache: mgr.GetCache(), Writer: mgr.GetClient()},
			Verdicts: verdicts.OfGates{Reader: &verdicts.Reader{
				Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), LeftOut: w.Bounds.LeftOutTriggers, Now: w.Clock.Now,
			}},
		},
	}
}

var formats = map[v1alpha1.EventSourceType]event.Format{v1alpha1.EventsOfGitHub: github.Format(), v1alpha1.EventsOfGitLab: gitlab.Format()}

// RunManager is StartManager for other options.
func (w *World) RunManager(cache cache.Options, change ...func(*ctrl.Options)) ctrl.Manager {
	w.T.Helper()
	mgr := w.NewManager(cache, change...)
	w.Must(controllers.Setup(mgr, w.Controllers(mgr)))
	w.Run(mgr)
	return mgr
}

// NewManager has no controllers yet.
func (w *World) NewManager(cache cache.Options, change ...func(*ctrl.Options)) ctrl.Manager {
	w.T.Helper()
	options := ctrl.Options{
		Scheme:     w.Scheme,
		NewCache:   index.NewCache,
		Cache:      cache,
		Client:     controllers.ClientOptions(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // of other tests' managers
		Logger:     w.logger(),
	}
	for _, c := range change {
		c(&options)
	}
	mgr, err := ctrl.NewManager(w.ManagerConfig, options)
	w.Must(err)
	w.Must(index.Setup(context.Background(), mgr.GetFieldIndexer()))
	return mgr
}

// Run returns when the caches of the manager are full.
func (w *World) Run(mgr ctrl.Manager) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.Stop = sync.OnceFunc(func() {
		w.cached = nil
		cancel()
		if err := <-ended; err != nil {
			w.T.Errorf("the manager ended with %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		w.T.Fatal("the caches of the manager did not fill")
	}
	w.cached = mgr.GetCache()
}

// logger is silent by default, because failures of these tests are easier to explain from the objects.
func (w *World) logger() logr.Logger {
	if w.Log != nil {
		return logr.New(w.Log)
	}
	if t, ok := w.T.(*testing.T); ok && os.Getenv("POSTFLIGHT_TEST_LOG") != "" {
		return testr.New(t)
	}
	return logr.Discard()
}

// Must ends the test if there is an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Create creates objects, in the namespace of the test unless they have another one.
func (w *World) Create(objects ...client.Object) {
	w.T.Helper()
	for _, o := range objects {
		if _, ofCluster := o.(*v1alpha1.Team); ofCluster {
			o.SetLabels(map[string]string{LabelTest: w.NS})
		} else if o.GetNamespace() == "" {
			o.SetNamespace(w.NS)
		}
		if s, ok := o.(*v1alpha1.Suite); ok {
			w.Arrives(s)
		}
		w.Must(w.Client.Create(context.Background(), o))
	}
}

// Arrives moves when a Suite was received from build.Noon to the time of this test. The API server sets when it was created,
// and a Suite that is a day older counts as restored from a backup.
func (w *World) Arrives(s *v1alpha1.Suite) *v1alpha1.Suite {
	if s.Spec.ReceivedAt != nil {
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(s.Spec.ReceivedAt.Add(w.Began.Sub(build.Noon))))
	}
	return s
}

// Eventually waits until check returns "".
func (w *World) Eventually(what string, check func() (complaint string)) {
	w.T.Helper()
	poll.Until(w.T, what, check)
}
