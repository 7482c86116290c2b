package controllers

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/report"
)

// reportOwner owns the fields of a Suite's status that say what was reported. Server-side apply lets it write them
// while the SuiteReconciler writes others, without a conflict on either side.
const reportOwner = client.FieldOwner("postflight-report")

// reportable are the changes of a Suite that may change its check.
var reportable = predicate.Or(replaced, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, is := e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite)
	return was.State() != is.State() || collected(was) != collected(is)
}})

func collected(s *v1alpha1.Suite) bool {
	return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionResultsCollected) != nil
}

// write stores what was reported, if it changed.
func (r *ReportReconciler) write(ctx context.Context, s *v1alpha1.Suite, shown *v1alpha1.SuiteReport, c metav1.Condition) error {
	status := map[string]any{}
	if shown != nil {
		var err error
		if status["report"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(shown); err != nil {
			return err
		}
	}
	same := equality.Semantic.DeepEqual(s.Status.Report, shown)
	return applyCondition(ctx, r, s, reportOwner, status, same, c, r.Clock.Now())
}

// applyCondition writes a condition and other fields of a Suite's status, unless all are the same. They must be all fields
// of their owner, because the API server removes those that are left out.
func applyCondition(
	ctx context.Context, c client.Client, s *v1alpha1.Suite, owner client.FieldOwner, status map[string]any, same bool, condition metav1.Condition, now time.Time,
) error {
	var is []metav1.Condition
	if was := meta.FindStatusCondition(s.Status.Conditions, condition.Type); was != nil {
		is = []metav1.Condition{*was}
	}
	condition.ObservedGeneration, condition.LastTransitionTime = s.Generation, metav1.NewTime(now)
	if changed := meta.SetStatusCondition(&is, condition); !changed && same {
		return nil
	}
	applied, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&is[0])
	if err != nil {
		return err
	}
	status["conditions"] = []any{applied}
	return apierror.IgnoreNotFound(c.Status().Apply(ctx, applyStatus(s, status),
		owner, client.ForceOwnership, client.DisableReadYourWritesConsistency))
}

// applyStatus is for exactly this object: another one of its name has another UID.
func applyStatus(s *v1alpha1.Suite, status map[string]any) runtime.ApplyConfiguration {
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       "Suite",
		"metadata":   map[string]any{"namespace": s.Namespace, "name": s.Name, "uid": string(s.UID)},
		"status":     status,
	}})
}

// reportMemory is what a leader knows about the outcome of its requests. Losing it costs requests that read back.
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

// unsure reports whether the code host may show more than the status says: an earlier leader, or a request without
// an answer, may have posted it. Creation times are in whole seconds.
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

// ReportMetrics count the posts.
type ReportMetrics struct{ posts *prometheus.CounterVec }

// NewReportMetrics registers the metrics.
func NewReportMetrics(registerer prometheus.Registerer) (*ReportMetrics, error) {
	m := &ReportMetrics{posts: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_reports_total",
		Help: "Posts of checks to code hosts, by their result.",
	}, []string{"result"})}
	return m, registerer.Register(m.posts)
}

func (m *ReportMetrics) posted() { m.posts.WithLabelValues("posted").Inc() }

func (m *ReportMetrics) failed(e *report.Error) {
	m.posts.WithLabelValues(map[report.Kind]string{
		report.Rejected: "rejected", report.Conflict: "conflict", report.Unavailable: "unavailable", report.Limited: "limited",
	}[e.Kind]).Inc()
}
