package report

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

var reportable = predicate.Or(reconcile.Replaced, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, is := e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite)
	return was.State() != is.State()
}})

// Without a condition, the stored one stays as it is.
func (r *Reconciler) write(ctx context.Context, s *v1alpha1.Suite, shown *v1alpha1.SuiteReport, c *metav1.Condition) error {
	is := v1alpha1.SuiteStatus{Report: shown}
	return reconcile.StatusWrite{Owner: reconcile.ReportOwner, Suite: s, Condition: c, Fields: is}.ApplyChange(ctx, r, r.Clock.Now())
}

// The check run of a superseded attempt may be too new for the cache. It must not stay in progress.
func (r *Reconciler) conclude(ctx context.Context, o report.Observation, c metav1.Condition) (after time.Duration, err error) {
	if o.NewerAttempt == "" {
		return 0, r.explain(ctx, o, c)
	}
	o, step, err := r.current(ctx, o, report.Target{}, report.Next)
	if err != nil || step.Condition == nil {
		return retry.Stale, err
	}
	return 0, r.explain(ctx, o, *step.Condition)
}

// What was posted must not be older than what this reconciler wrote last, and the cache may lag.
func (r *Reconciler) explain(ctx context.Context, o report.Observation, c metav1.Condition) error {
	s := o.Suite
	if s.Status.Report != nil || o.Trigger != nil && o.Trigger.Spec.Repository != nil {
		now, err := reconcile.Reread(ctx, r.Live, s)
		if err != nil || now == nil {
			return err
		}
		s = now
	}
	return r.write(ctx, s, s.Status.Report, &c)
}

// reportMemory is the outcome of a leader's requests. Losing it costs requests that read back, and some that are refused again.
type reportMemory struct {
	mu      sync.Mutex
	began   time.Time // of this leader
	doubted map[types.NamespacedName]bool
	failed  map[types.NamespacedName]map[report.Purpose]failedPost
}

// failedPost is not repeated until a time, unless the Trigger changes, or the run enters another phase.
type failedPost struct {
	until      time.Time
	generation int64 // of the Trigger
	phase      v1alpha1.ReportPhase
}

func (m *reportMemory) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began, m.doubted = now, map[types.NamespacedName]bool{}
		m.failed = map[types.NamespacedName]map[report.Purpose]failedPost{}
	}
}

// forget is for a run of which nothing is posted any more.
func (m *reportMemory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.doubted, key)
	delete(m.failed, key)
}

func (m *reportMemory) fail(o report.Observation, p report.Purpose, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(o.Suite)
	if m.failed[key] == nil {
		m.failed[key] = map[report.Purpose]failedPost{}
	}
	m.failed[key][p] = failedPost{until, o.Trigger.Generation, report.PhaseOf(o.Suite)}
}

func (m *reportMemory) succeed(key types.NamespacedName, p report.Purpose) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.failed[key], p); len(m.failed[key]) == 0 {
		delete(m.failed, key)
	}
}

func (m *reportMemory) pause(o report.Observation, p report.Purpose, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, failed := m.failed[client.ObjectKeyFromObject(o.Suite)][p]
	if !failed || f.generation != o.Trigger.Generation || f.phase != report.PhaseOf(o.Suite) {
		return 0
	}
	return f.until.Sub(now)
}

// inOrder returns the posts, last those that failed: one that always fails must not use up what a host accepts.
func (m *reportMemory) inOrder(key types.NamespacedName) []post {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(p post) int {
		if _, failed := m.failed[key][p.purpose]; failed {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(posts), func(a, b post) int { return failed(a) - failed(b) })
}

// An earlier leader, or a request without an answer, may have posted more than the status says. Creation times are in whole seconds.
func (m *reportMemory) unsure(s *v1alpha1.Suite) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.CreationTimestamp.Time.Before(m.began) || m.doubted[client.ObjectKeyFromObject(s)]
}

func (m *reportMemory) doubt(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted[key] = true
}

func (m *reportMemory) settle(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.doubted, key)
}

// Metrics count the posts.
type Metrics struct{ posts *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{posts: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_reports_total",
		Help: "Posts of checks, deployments and comments to code hosts, by their result.",
	}, []string{"result"})}
	m.posts.WithLabelValues(posted) // to be 0 from the start, as the others
	for _, kind := range []report.Kind{report.Rejected, report.Conflict, report.Unavailable, report.Limited} {
		m.posts.WithLabelValues(kind.String())
	}
	return m, registerer.Register(m.posts)
}

// posted is the result of a post that succeeded; the others are kinds of errors.
const posted = "posted"

func (m *Metrics) posted() { m.posts.WithLabelValues(posted).Inc() }

func (m *Metrics) failed(e *report.Error) { m.posts.WithLabelValues(e.Kind.String()).Inc() }
