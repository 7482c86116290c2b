package report

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

var reportable = predicate.Or(reconcile.Replaced, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite)
	return before.State() != after.State() || before.Annotations[v1alpha1.AnnotationAnswer] != after.Annotations[v1alpha1.AnnotationAnswer]
}})

// Without a condition, the stored one stays as it is.
func (r *Reconciler) write(ctx context.Context, s *v1alpha1.Suite, shown *v1alpha1.SuiteReport, c *metav1.Condition) error {
	status := v1alpha1.SuiteStatus{Report: shown}
	return reconcile.StatusWrite{Owner: reconcile.ReportOwner, Suite: s, Condition: c, Fields: status}.ApplyChange(ctx, r, r.Clock.Now())
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
