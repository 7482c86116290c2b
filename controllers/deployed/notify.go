package deployed

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// Notifier creates the runs that a rollout starts.
type Notifier interface {
	// Notify returns false while it cannot be known which Triggers there are, or while the API server is unavailable: call it again.
	Notify(ctx context.Context, team *v1alpha1.Team, n *notification.Notification, r Rollout) (Outcome, bool)
}

// Rollout is why a notification is made.
type Rollout struct {
	Environment string
	Key         string // the same if it is made again
}

// Outcome is what came of a notification.
type Outcome struct {
	Started, Existing []string // runs
	Problems          []string // sentences: why runs were not created
}

// Add adds what came of another notification.
func (o *Outcome) Add(other Outcome) {
	o.Started, o.Existing = append(o.Started, other.Started...), append(o.Existing, other.Existing...)
	o.Problems = append(o.Problems, other.Problems...)
}

// Runs names the runs, as sentences that follow others. The existing ones are introduced by a clause.
func (o *Outcome) Runs(existing string) (text string) {
	if len(o.Started) > 0 {
		text = " Started " + strings.Join(o.Started, ", ") + "."
	}
	if len(o.Existing) > 0 {
		text += " " + existing + ": " + strings.Join(o.Existing, ", ") + "."
	}
	return text
}

const (
	// writeFirst is returned where a notification waits for the write of the status, so that it is not lost if the manager ends.
	writeFirst = time.Millisecond

	// notifyRetry is how long after a failure the notification is made again.
	notifyRetry = 2 * time.Second

	// notifyWithin keeps one Environment from delaying the others for long.
	notifyWithin = 10 * time.Second
)

// notify makes the notifications that the stored status has as pending, so that none is lost if the manager ends. If it ends between a
// notification and the write of the status, the next one finds its runs. It returns when to come again; 0: nothing is left.
func (r *Reconciler) notify(ctx context.Context, o workloads.Observed, e *v1alpha1.Environment) (wait time.Duration) {
	for i := range e.Status.Deployed {
		d := &e.Status.Deployed[i]
		if d.Notification != v1alpha1.NotificationPending {
			continue
		}
		switch {
		case !stored(o.Environment, *d):
			wait = writeFirst
		case r.send(ctx, o, *d):
			d.Notification = v1alpha1.NotificationSent
		default:
			wait = lifecycle.Sooner(wait, notifyRetry)
		}
	}
	return wait
}

func stored(e *v1alpha1.Environment, d v1alpha1.Deployed) bool {
	for _, old := range e.Status.Deployed {
		if commit.PartOf(old.Repository, old.Service).SamePart(commit.PartOf(d.Repository, d.Service)) {
			return old.Notification == v1alpha1.NotificationPending && old.SHA == d.SHA
		}
	}
	return false
}

func (r *Reconciler) send(ctx context.Context, o workloads.Observed, d v1alpha1.Deployed) bool {
	if o.Team == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	rollout := Rollout{Environment: o.Environment.Name, Key: workloads.RolloutKey(d)}
	outcome, ok := r.Notify(ctx, o.Team, workloads.Notification(o.Environment, d), rollout)
	if ok {
		ctrl.LoggerFrom(ctx).Info("a rollout was notified", "repository", d.Repository, "service", d.Service, "sha", d.SHA,
			"started", outcome.Started, "existing", outcome.Existing, "problems", outcome.Problems)
		r.record(o.Environment, d, outcome)
	}
	return ok
}

func (r *Reconciler) record(e *v1alpha1.Environment, d v1alpha1.Deployed, outcome Outcome) {
	kind, text := corev1.EventTypeNormal, fmt.Sprintf("%s was rolled out.", d.SHA)
	text += outcome.Runs("These runs test it already")
	if len(outcome.Started)+len(outcome.Existing)+len(outcome.Problems) == 0 {
		text += " No Trigger of the Environment matches."
	}
	if len(outcome.Problems) > 0 {
		kind = corev1.EventTypeWarning
		text += " " + strings.Join(outcome.Problems, " ")
	}
	r.Recorder.Eventf(e, nil, kind, "RolledOut", "Notify", "%s", reconcile.ClipNote(text))
}
