package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// Notifier creates the runs of schedules.
type Notifier interface {
	// Notify creates the run of the Trigger for a time, or finds the run that already answers it. It returns false if it must be called
	// again, because the API server is unavailable.
	Notify(ctx context.Context, team *v1alpha1.Team, run schedule.Run, t *v1alpha1.Trigger, due time.Time) (deployed.Outcome, bool)
}

// Reconciler starts runs, and keeps Trigger.status.schedule.
type Reconciler struct {
	client.Client
	Clock clock.PassiveClock
	Notifier
	Recorder events.EventRecorder
}

const (
	// startRetry is how long after a failure runs are started again.
	startRetry = 2 * time.Second

	// startWithin keeps one Trigger from delaying the others for long.
	startWithin = 10 * time.Second
)

// Reconcile starts runs before it writes that into the status. If the manager ends in between, the next one finds them by their key.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	trigger, err := reconcile.Get[v1alpha1.Trigger](ctx, r, req.Namespace, req.Name)
	if err != nil || trigger == nil {
		return ctrl.Result{}, err
	}
	d := schedule.Decide(trigger, r.Clock.Now())
	due, outcome := d.Due, deployed.Outcome{}
	if !due.IsZero() {
		message, ok, err := r.start(ctx, trigger, due, &outcome)
		if err != nil {
			return ctrl.Result{}, err
		}
		if !ok {
			return ctrl.Result{RequeueAfter: startRetry}, nil
		}
		d.Done(message)
	}
	if err := r.write(ctx, trigger, d.Status); err != nil {
		return ctrl.Result{}, err
	}
	if !due.IsZero() {
		r.record(trigger, due, outcome, d.Status.Message)
	}
	return ctrl.Result{RequeueAfter: d.After}, nil
}

// write needs no lock: no other reconciler writes this part of the status.
func (r *Reconciler) write(ctx context.Context, trigger *v1alpha1.Trigger, status *v1alpha1.ScheduleStatus) error {
	if equality.Semantic.DeepEqual(trigger.Status.Schedule, status) {
		return nil
	}
	changed := trigger.DeepCopy()
	changed.Status.Schedule = status
	return apierror.IgnoreNotFound(r.Status().Patch(ctx, changed, client.MergeFrom(trigger)))
}

// start returns why no run was started, and false if that is to be tried again.
func (r *Reconciler) start(
	ctx context.Context, t *v1alpha1.Trigger, due time.Time, outcome *deployed.Outcome,
) (message string, ok bool, err error) {
	observed, err := r.observe(ctx, t)
	if err != nil {
		return "", false, err
	}
	runs, why := schedule.Runs(observed)
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, run := range runs {
		o, ok := r.Notify(ctx, observed.Team, run, t, due)
		if !ok {
			return "", false, nil
		}
		outcome.Add(o)
	}
	if len(outcome.Problems) > 0 {
		why = strings.TrimSpace(strings.Join(outcome.Problems, " ") + " " + why)
	}
	ctrl.LoggerFrom(ctx).Info("a time of the schedule has come",
		"due", due, "started", outcome.Started, "existing", outcome.Existing, "problem", why)
	return why, true, nil
}

func (r *Reconciler) observe(ctx context.Context, t *v1alpha1.Trigger) (o schedule.Observed, err error) {
	o.Trigger = t
	if o.Team, err = index.Owner(ctx, r, t.Namespace); err != nil {
		return o, err
	}
	if o.Environment, err = reconcile.Shared[v1alpha1.Environment](ctx, r, t.Namespace, t.Spec.Environment); err != nil {
		return o, err
	}
	o.Suites, err = index.Suites(ctx, r, t.Namespace, index.Deployed, t.Spec.Environment)
	return o, err
}

func (r *Reconciler) record(t *v1alpha1.Trigger, due time.Time, outcome deployed.Outcome, message string) {
	kind, text := corev1.EventTypeNormal, fmt.Sprintf("It is %s.", due.UTC().Format(time.RFC3339))
	text += outcome.Runs("These runs test what is deployed already")
	if message != "" {
		kind, text = corev1.EventTypeWarning, text+" "+message
	}
	r.Recorder.Eventf(t, nil, kind, "Scheduled", "Schedule", "%s", reconcile.ClipNote(text))
}
