package announce

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

var announceable = predicate.Or(reconcile.Replaced, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.Suite), e.ObjectNew.(*v1alpha1.Suite)
	return before.State() != after.State() || (before.Status.StartTime == nil) != (after.Status.StartTime == nil)
}})

var receiversChanged = builder.WithPredicates(predicate.Or(
	predicate.GenerationChangedPredicate{}, reconcile.Replaced, predicate.Funcs{UpdateFunc: sinceChanged},
))

func sinceChanged(e event.UpdateEvent) bool {
	if before, ok := e.ObjectOld.(*v1alpha1.Trigger); ok {
		return !before.Status.NotifiedSince.Equal(e.ObjectNew.(*v1alpha1.Trigger).Status.NotifiedSince)
	}
	before, after := e.ObjectOld.(*v1alpha1.Team), e.ObjectNew.(*v1alpha1.Team)
	return !equality.Semantic.DeepEqual(before.Status.Webhooks, after.Status.Webhooks)
}

func (r *Reconciler) write(ctx context.Context, s *v1alpha1.Suite, told []v1alpha1.Delivery, c metav1.Condition) error {
	status := v1alpha1.SuiteStatus{Deliveries: told}
	return reconcile.StatusWrite{Owner: reconcile.AnnounceOwner, Suite: s, Condition: &c, Fields: status}.ApplyChange(ctx, r, r.Clock.Now())
}

func (r *Reconciler) unsettledOfTrigger(ctx context.Context, t client.Object) []ctrl.Request {
	return r.unsettled(ctx, t.GetNamespace(), client.MatchingFields{index.Trigger: t.GetName()})
}

func (r *Reconciler) unsettledOfTeam(ctx context.Context, team client.Object) []ctrl.Request {
	return r.unsettled(ctx, team.(*v1alpha1.Team).NamespaceName())
}

func (r *Reconciler) unsettled(ctx context.Context, namespace string, options ...client.ListOption) []ctrl.Request {
	left := func(s *v1alpha1.Suite) bool { return !announce.Settled(s, r.Clock.Now()) }
	return reconcile.SuitesWhere(ctx, r, left, namespace, options...)
}

// Metrics count the messages.
type Metrics struct{ messages *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{messages: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "postflight_messages_total",
		Help: "Messages about runs to webhooks and chats, by the kind of the receiver and their result.",
	}, []string{"kind", "result"})}
	for _, kind := range announce.Kinds() {
		for _, result := range []string{delivered, gone, report.Limited.String(), report.Unavailable.String(), report.Rejected.String()} {
			m.messages.WithLabelValues(string(kind), result) // to be 0 from the start
		}
	}
	return m, registerer.Register(m.messages)
}

func (m *Metrics) observe(to announce.Receiver, failure *announce.Failure) {
	m.messages.WithLabelValues(string(to.Kind), messageResult(failure)).Inc()
}

// Results of messages; the others are kinds of errors.
const delivered, gone = "delivered", "gone"

func messageResult(failure *announce.Failure) string {
	switch {
	case failure == nil:
		return delivered
	case failure.Gone:
		return gone
	default:
		return failure.Why.Kind.String()
	}
}
