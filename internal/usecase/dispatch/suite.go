package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// ensureSuite creates the Suite of a Trigger, or finds its duplicate. A taken name does not prove one: this call may have created the Suite
// and lost the answer, it may be something else, or an attempt that is to be repeated.
func (o *operation) ensureSuite(ctx context.Context, t *v1alpha1.Trigger, environment *v1alpha1.Environment, result *TriggerResult) error {
	known, err := o.attempts(ctx, t, environment.Name)
	if err != nil {
		return err
	}
	place := rerun.Place{At: o.Origin.deployedAt, Environment: environment.UID}
	for _, s := range known { // the latest attempt may be of this Environment, though the notification is of an earlier one
		p, _ := o.duplicateOf(t).Place(s, o.IdempotencyKey, place, environment)
		place.Environment = p.Environment
	}
	for attempt := o.firstAttempt(known); attempt <= v1alpha1.MaxAttempt; attempt++ {
		desired := o.desired(ctx, t, environment, attempt, place.At)
		desired.Spec.EnvironmentUID = place.Environment
		desired.Name = suite.KnownName(desired, known)
		existing, err := o.createOrGet(ctx, t, desired)
		if err != nil {
			return err
		}
		if existing == nil || o.owns(existing) {
			result.SuiteID, result.Decision = desired.Name, Created
			return nil
		}
		if suite.OtherRevision(existing, desired) { // an earlier version did not tell the repositories of revisions apart
			continue
		}
		if !suite.SameRun(existing, desired) {
			return reject("The name %s belongs to a Suite that is not a run of this notification. "+
				"Delete that Suite, and send the notification again.", desired.Name)
		}
		d := &duplicate{operation: o, trigger: t, environment: environment, desired: desired, existing: existing, place: place}
		if err := d.resolve(ctx); err != nil {
			return err
		}
		place = d.place
		if !d.anew {
			result.SuiteID, result.Decision, result.EndedAt, result.Differs = desired.Name, Duplicate, d.existing.Status.CompletionTime, d.differs
			return nil
		}
	}
	return reject("There are %d attempts of this run already, which is as many as can be counted. "+
		"Delete its Suites, and send the notification again.", v1alpha1.MaxAttempt)
}

func (o *operation) desired(
	ctx context.Context, t *v1alpha1.Trigger, environment *v1alpha1.Environment, attempt int32, deployedAt time.Time,
) *v1alpha1.Suite {
	return suite.New(suite.Request{
		Trigger:        t,
		Environment:    environment.Name,
		EnvironmentUID: environment.UID,
		Ephemeral:      environment.Spec.Ephemeral != nil,
		Siblings:       suite.SiblingNames(t, o.matched),
		Origin:         o.Origin.Kind(),
		Notification:   o.Notification,
		IdempotencyKey: o.IdempotencyKey,
		RequestID:      o.RequestID,
		ReceivedAt:     o.serverTime,
		DeployedAt:     deployedAt,
		ScheduledFor:   o.Origin.scheduledFor,
		Attempt:        attempt,
		Traceparent:    traceparent(ctx),
	})
}

// owns reports whether this call created the Suite.
func (o *operation) owns(s *v1alpha1.Suite) bool {
	return s.Annotations[v1alpha1.AnnotationRequestID] == o.RequestID
}

// attempts returns the known Suites of the revision. Without a revision, none are.
func (o *operation) attempts(ctx context.Context, t *v1alpha1.Trigger, environment string) ([]*v1alpha1.Suite, error) {
	if o.Notification.SHA == "" {
		return nil, nil
	}
	known, err := index.Suites(ctx, o.Cache, o.namespace, index.Run, index.RunKey(t.UID, environment, o.Notification.SHA))
	if err != nil {
		return nil, fmt.Errorf("look up earlier attempts: %w", err)
	}
	notified := commit.New(o.Notification.Repository, o.Notification.Service, o.Notification.SHA)
	return slices.DeleteFunc(known, func(s *v1alpha1.Suite) bool { return !notified.Same(commit.Of(s.Spec.Deployment)) }), nil
}

// firstAttempt is the known attempt for this notification, or the latest: deleted earlier ones have freed their names. A schedule begins
// with an attempt that has not ended: an earlier one may still be stopping.
func (o *operation) firstAttempt(known []*v1alpha1.Suite) int32 {
	own, unfinished, latest := int32(0), int32(0), int32(1)
	for _, s := range known {
		latest = max(latest, s.Spec.Attempt)
		if rerun.NotifiedBy(s, o.IdempotencyKey) {
			own = max(own, s.Spec.Attempt)
		}
		if o.Origin.Kind() == v1alpha1.OriginSchedule && !s.Finished() {
			unfinished = max(unfinished, s.Spec.Attempt)
		}
	}
	return cmp.Or(own, unfinished, latest)
}
