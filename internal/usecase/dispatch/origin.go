package dispatch

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// Origin is who asks for runs, and what only that one knows. The zero value is a client.
type Origin struct {
	kind         v1alpha1.Origin
	deployedAt   time.Time // zero: at the receipt
	environment  string    // whose Triggers alone are notified; empty: all
	trigger      *v1alpha1.Trigger
	scheduledFor time.Time
	post         *event.Post // that another cluster may have posted; nil: nothing
}

// FromRollout is for a notification that the workloads of an Environment make. Only its Triggers are notified.
func FromRollout(environment string) Origin {
	return Origin{kind: v1alpha1.OriginRollout, environment: environment}
}

// FromEvent is for what another service sent about a deployment, perhaps late, and perhaps not for the first time. A zero time means that
// the event does not say when the deployment was.
func FromEvent(deployedAt time.Time) Origin {
	return Origin{kind: v1alpha1.OriginEvent, deployedAt: deployedAt}
}

// Showing adds what the code host shows with the deployment of an event.
func (o Origin) Showing(p *event.Post) Origin {
	o.post = p
	return o
}

// FromSchedule is for a time of the schedule of a Trigger that has come. It alone is notified, and matches the notification. What is to be
// tested was deployed before.
func FromSchedule(t *v1alpha1.Trigger, at, deployedAt time.Time) Origin {
	return Origin{kind: v1alpha1.OriginSchedule, trigger: t, scheduledFor: at, deployedAt: deployedAt}
}

// Kind returns the origin of the Suites.
func (o Origin) Kind() v1alpha1.Origin {
	if o.kind == "" {
		return v1alpha1.OriginNotification
	}
	return o.kind
}

// narrow leaves the Triggers that are notified.
func (o Origin) narrow(matched []*v1alpha1.Trigger) []*v1alpha1.Trigger {
	if o.environment == "" {
		return matched
	}
	return slices.DeleteFunc(slices.Clone(matched), func(t *v1alpha1.Trigger) bool { return t.Spec.Environment != o.environment })
}

// mark completes the line of a notification. It reports whether there is one: a schedule announces nothing.
func (o Origin) mark(n *record.Notification) bool {
	n.Way, n.Environment = origin.Of(o.Kind()).Way, o.environment
	return n.Way != ""
}

// record keeps a line for replays.
func (o *operation) record(matched []*v1alpha1.Trigger) {
	if o.Journal == nil || o.Mode == DryRun {
		return
	}
	n := record.NotificationOf(o.ServerTime(o.ReceivedAt), o.Notification, matched)
	if o.Origin.mark(&n) {
		o.Journal.Record(o.Team.Name, n)
	}
}
