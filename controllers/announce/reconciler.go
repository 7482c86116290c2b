package announce

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	// announceWorkers is how many messages are sent at once, and perTeam how many of them to the receivers of one team: one team's receivers
	// may hang, and must not hold up the others.
	announceWorkers, perTeam = 32, 4

	// busyRetry is when to look again while a team or a receiver has as many messages in flight as it may.
	busyRetry = time.Second
)

// Sender delivers messages.
type Sender interface {
	// Send returns once the receiver has accepted the message. The error is an *announce.Failure.
	Send(ctx context.Context, m announce.Message) error
}

// Chat is a chat with threads.
type Chat interface {
	// Send returns what identifies the message in its channel. The error is an *announce.Failure.
	Send(ctx context.Context, m announce.Message) (ts string, err error)

	// Find returns what identifies a message that was sent earlier; empty: there is none. The error is an *announce.Failure.
	Find(ctx context.Context, s announce.Search, now time.Time) (ts string, err error)
}

// Config is what messages about runs need.
type Config struct {
	report.Options
	Sender Sender // nil: no messages are sent
	Chat   Chat
}

// Reconciler tells receivers about runs. It writes only Suite.status.deliveries and Notified, and Trigger.status.threads, so a slow
// receiver never delays a run.
type Reconciler struct {
	client.Client
	Live     client.Reader // reads Secrets, which are not cached, and Suites before something is sent
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Config   Config
	Metrics  *Metrics

	budgets   report.Budgets // by namespace and receiver
	teamSlots teamSlots
	memory    announceMemory
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("announce").
		For(&v1alpha1.Suite{}, builder.WithPredicates(announceable, reconcile.Concerning(r.hasReceivers(mgr.GetCache())))).
		Watches(&v1alpha1.Trigger{}, handler.EnqueueRequestsFromMapFunc(r.unsettledOfTrigger), receiversChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.unsettledOfTeam), receiversChanged).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: announceWorkers, ReconciliationTimeout: retry.Timeout, RateLimiter: retry.Backoff(),
		}).
		Complete(retry.Conflicts(r))
}

// A later change of the Team or the Trigger enqueues its runs.
func (r *Reconciler) hasReceivers(cache client.Reader) func(*v1alpha1.Suite) bool {
	return func(s *v1alpha1.Suite) bool {
		ctx := context.Background()
		team, err := index.Owner(ctx, cache, s.Namespace)
		if err != nil || team == nil {
			return true
		}
		t, err := reconcile.Shared[v1alpha1.Trigger](ctx, cache, s.Namespace, s.Spec.Trigger.Name)
		return err != nil || !s.IsOf(t) || len(announce.Receivers(team, t)) > 0
	}
}

type announcement struct {
	announce.Observation
	team    string            // the name of the Team
	trigger *v1alpha1.Trigger // shared with the cache; nil: there is none any more
	config  string            // changes with what the receivers are configured by
}

// Reconcile tells one receiver about one event.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := reconcile.Shared[v1alpha1.Suite](ctx, r, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if s == nil || announce.Settled(s, r.Clock.Now()) {
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	a, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	step, release := r.plan(a.Observation)
	defer release(nil)
	if step.Receiver == nil && step.Condition == nil {
		return ctrl.Result{RequeueAfter: step.After}, nil
	}
	return r.act(ctx, s, step, release)
}

func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.Suite) (a announcement, err error) {
	a.Suite = s
	team, err := index.Owner(ctx, r, s.Namespace)
	if err != nil {
		return a, err
	}
	t, err := reconcile.Shared[v1alpha1.Trigger](ctx, r, s.Namespace, s.Spec.Trigger.Name)
	if err != nil {
		return a, err
	}
	if !s.IsOf(t) {
		t = nil
	}
	a.Receivers = announce.Receivers(team, t)
	if team != nil {
		a.team, a.config = team.Name, fmt.Sprintf("%s %d", team.UID, team.Generation)
	}
	if t != nil {
		a.config += fmt.Sprintf(" %s %d", t.UID, t.Generation)
	}
	a.Waits = r.memory.waits(client.ObjectKeyFromObject(s), a.config)
	if a.trigger = t; t != nil && s.Finished() && announce.SelectsEnds(team, t) {
		err = r.compare(ctx, &a)
	}
	return a, err
}

// compare reads what the run is compared with.
func (r *Reconciler) compare(ctx context.Context, a *announcement) error {
	s, t := a.Suite, a.trigger
	runs, err := index.Suites(ctx, r, s.Namespace, index.Trigger, t.Name)
	a.Runs, a.Threads, a.Previous = runs, t.Status.Threads, announce.Previous(s, runs, t.Status.Outcomes)
	return err
}

// The release gives the slot back, with how the receiver failed.
func (r *Reconciler) plan(o announce.Observation) (announce.Step, func(*report.Error)) {
	now := r.Clock.Now()
	for {
		step := announce.Next(o, now)
		if step.Receiver == nil {
			return step, func(*report.Error) {}
		}
		release, after := r.room(o.Suite.Namespace, *step.Receiver)
		if after == 0 {
			return step, release
		}
		o.Waits[step.Receiver.Name] = now.Add(after)
	}
}

func (r *Reconciler) room(namespace string, to announce.Receiver) (release func(*report.Error), after time.Duration) {
	if !r.teamSlots.take(namespace) {
		return nil, wait.Jitter(busyRetry, 1)
	}
	budget := r.budgets.Of(fmt.Sprintf("%s %s %s", namespace, to.Name, to.Secret), to.Limits(), r.Clock.Now())
	if after = budget.Take(100, r.Clock.Now()); after > 0 {
		r.teamSlots.give(namespace)
		return nil, wait.Jitter(after, retry.Spread)
	}
	released := false
	return func(failure *report.Error) {
		if !released {
			released = true
			budget.Done(failure, r.Clock.Now())
			r.teamSlots.give(namespace)
		}
	}, 0
}

// act rereads the run, so that an event sent meanwhile is not repeated, and a leader that lost the API server sends nothing.
func (r *Reconciler) act(
	ctx context.Context, cached *v1alpha1.Suite, step announce.Step, release func(*report.Error),
) (ctrl.Result, error) {
	s, err := reconcile.Reread(ctx, r.Live, cached)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	a, err := r.observe(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	if step.Receiver == nil {
		if step = announce.Next(a.Observation, r.Clock.Now()); step.Condition != nil {
			return ctrl.Result{}, r.write(ctx, s, s.Status.Deliveries, *step.Condition)
		}
		return ctrl.Result{RequeueAfter: retry.Stale}, nil
	}
	pending := a.Pending(*step.Receiver)
	if len(pending) == 0 || !slices.ContainsFunc(a.Receivers, func(to announce.Receiver) bool { return to.Name == step.Receiver.Name }) {
		return ctrl.Result{RequeueAfter: retry.Stale}, nil
	}
	if action := a.NextThread(*step.Receiver); action != nil {
		return r.converse(ctx, a, *step.Receiver, pending[0], *action, release)
	}
	return r.notify(ctx, a, *step.Receiver, pending[0], release)
}

func (r *Reconciler) notify(
	ctx context.Context, a announcement, to announce.Receiver, e announce.Event, release func(*report.Error),
) (ctrl.Result, error) {
	key, d := client.ObjectKeyFromObject(a.Suite), announce.DeliveryTo(a.Suite, to)
	failure, err := r.sendOnce(ctx, a, to, e)
	if err != nil {
		return ctrl.Result{}, err
	}
	if failure == nil {
		release(nil)
		d.Event, d.Problem = e.Name, ""
		result, err := r.remember(ctx, a, d)
		if err == nil {
			r.memory.stored(key, to.Name)
		}
		return result, err
	}
	release(&failure.Why)
	return r.failed(ctx, a, to, e, failure)
}

func (r *Reconciler) failed(
	ctx context.Context, a announcement, to announce.Receiver, e announce.Event, failure *announce.Failure,
) (ctrl.Result, error) {
	key, d := client.ObjectKeyFromObject(a.Suite), announce.DeliveryTo(a.Suite, to)
	d.Problem, d.Gone = announce.Problem(failure.Error()), failure.Gone
	r.memory.failed(key, to.Name, a.config, failure.Why.Kind, r.Clock.Now())
	ctrl.LoggerFrom(ctx).Info("cannot tell a receiver about a run",
		"receiver", to.Name, "event", e.Name, "reason", failure.Why.Message, "cause", failure.Why.Cause)
	return r.remember(ctx, a, d)
}

// remember stores a delivery before anything else is sent, so that a crash repeats one message at most.
func (r *Reconciler) remember(ctx context.Context, a announcement, d v1alpha1.Delivery) (ctrl.Result, error) {
	before := a.Suite
	s, condition := announce.WithDelivery(a.Observation, d)
	if err := r.write(ctx, before, s.Status.Deliveries, condition); err != nil {
		return ctrl.Result{}, err
	}
	if d.Problem != "" && d.Problem != announce.DeliveryTo(before, announce.Receiver{Name: d.Receiver}).Problem {
		r.Recorder.Eventf(before, nil, corev1.EventTypeWarning, "NotifyFailed", "Notify", "%s", reconcile.ClipNote(condition.Message))
	}
	a.Suite, a.Waits = s, r.memory.waits(client.ObjectKeyFromObject(s), a.config)
	next := announce.Next(a.Observation, r.Clock.Now())
	if next.Receiver != nil {
		return ctrl.Result{RequeueAfter: retry.AtOnce}, nil
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(next.After, retry.Spread)}, nil
}
