// Package suite runs Suites as Jobs: the reconciler, its memory and its watches.
package suite

import (
	"cmp"
	"context"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Config is what the reconciler needs besides a manager.
type Config struct {
	Clock     clock.PassiveClock
	Metrics   *Metrics
	Inputs    InputsConfig
	Image     string         // Postflight's own, for the container that waits for the right version; empty: it is not known
	Collector *job.Collector // keeps what the tests wrote; nil: no store is configured
	Tests     Tests          // of earlier runs, for shards; nil: no store is configured
	Documents Documents      // of the results of runs; nil: no store is configured
	Handovers Handovers
	Workloads Workloads
	Evictions Evictions
	Archives  bool      // finished runs are archived before they are deleted
	Trace     SendTrace // nil: traces are off

	// PodGoneAfter is how long after its grace period a pod that has not stopped counts as lost; 0 means DefaultPodGoneAfter.
	PodGoneAfter time.Duration

	// UntouchedFor is how long a new Job that Kubernetes has not changed yet may stay unreported; 0 means untouchedFor.
	UntouchedFor time.Duration
}

// Handovers take what was read to end a run, for those that archive it.
type Handovers interface {
	Put(s *v1alpha1.Suite, pods []corev1.Pod)
}

// Evictions knows which pods a kubelet evicted.
type Evictions interface {
	Known() bool
	Message(namespace string, pod types.UID) (message string, evicted bool)
}

// Documents are what the pods of runs reported, in the store.
type Documents interface {
	// Results returns the documents of the pods of a run.
	Results(ctx context.Context, r record.Run) iter.Seq2[record.Results, error]
}

// Workloads knows what runs in Environments.
type Workloads interface {
	// UnderTest reads what an Environment has, after the call began. An error is temporary.
	UnderTest(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error)

	// BeforeTests is UnderTest for the start of a run, which may be some seconds before its tests begin.
	BeforeTests(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error)
}

// untouchedFor outlasts a burst of a thousand runs, whose statuses would compete with its Jobs. Kubernetes changes most Jobs in 0.1 s.
const untouchedFor = 10 * time.Second

// DefaultPodGoneAfter is longer than a node takes to reboot, and shorter than people want to wait for the test of a deployment.
const DefaultPodGoneAfter = 10 * time.Minute

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, config Config) error {
	config.PodGoneAfter = cmp.Or(config.PodGoneAfter, DefaultPodGoneAfter)
	config.UntouchedFor = cmp.Or(config.UntouchedFor, untouchedFor)
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("postflight"), Config: config,
		queues: newQueues(config.Clock), starts: newStarts(), statusSlots: newStatusSlots(), streams: newStreams(),
		reading: fairness.NewSemaphore(readingAtOnce), warnings: newWarnings(mgr.GetAPIReader(), config.Clock),
		limitRanges: newLimitRanges(mgr.GetAPIReader(), config.Clock),
	}
	return r.SetupWithManager(mgr)
}
