package report

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
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
	if c == nil {
		c = meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReported)
	}
	is := v1alpha1.SuiteStatus{Report: shown}
	return reconcile.StatusWrite{Owner: reconcile.ReportOwner, Suite: s, Condition: c, Fields: is}.ApplyChange(ctx, r, r.Clock.Now())
}

// The check run of a superseded attempt may be too new for the cache. It must not stay in progress.
func (r *Reconciler) conclude(ctx context.Context, o report.Observation, c metav1.Condition) (after time.Duration, err error) {
	if o.NewerAttempt == "" {
		return 0, r.explain(ctx, o, c)
	}
	target, _ := report.TargetOf(o.Suite, o.Trigger)
	o, step, err := r.current(ctx, o, target, report.Next)
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

// reportMemory is the outcome of a leader's requests. Losing it costs requests that read back.
type reportMemory struct {
	mu      sync.Mutex
	began   time.Time // of this leader
	doubted map[types.NamespacedName]bool
}

func (m *reportMemory) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began, m.doubted = now, map[types.NamespacedName]bool{}
	}
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
