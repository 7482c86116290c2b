package dispatch

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// ensureSuite creates the Suite of a Trigger, or finds its duplicate. A taken name does not prove one: this call may have created the Suite
// and lost the answer, it may be something else, or an attempt that is to be repeated.
func (o *operation) ensureSuite(ctx context.Context, t *v1alpha1.Trigger, environment *v1alpha1.Environment, result *TriggerResult) error {
	attempt, err := o.firstAttempt(ctx, t, environment.Name)
	if err != nil {
		return err
	}
	for ; attempt <= v1alpha1.MaxAttempt; attempt++ {
		desired := o.desired(ctx, t, environment, attempt)
		existing, err := o.createOrGet(ctx, t, desired)
		if err != nil {
			return err
		}
		if existing == nil || o.owns(existing) {
			result.SuiteID, result.Decision = desired.Name, Created
			return nil
		}
		if !suite.SameRun(existing, desired) {
			return reject("The name %s belongs to a Suite that is not a run of this notification. "+
				"Delete that Suite, and send the notification again.", desired.Name)
		}
		d := &duplicate{operation: o, trigger: t, desired: desired, existing: existing}
		if err := d.resolve(ctx); err != nil {
			return err
		}
		if !d.again {
			result.SuiteID, result.Decision, result.EndedAt, result.Differs = desired.Name, Duplicate, d.existing.Status.CompletionTime, d.differs
			return nil
		}
	}
	return reject("There are %d attempts of this run already, which is as many as can be counted. "+
		"Delete its Suites, and send the notification again.", v1alpha1.MaxAttempt)
}

func (o *operation) desired(ctx context.Context, t *v1alpha1.Trigger, environment *v1alpha1.Environment, attempt int32) *v1alpha1.Suite {
	var ephemeral types.UID
	if environment.Spec.Ephemeral != nil {
		ephemeral = environment.UID
	}
	r := suite.Request{
		Trigger:        t,
		Environment:    environment.Name,
		EphemeralUID:   ephemeral,
		Notification:   o.Notification,
		IdempotencyKey: o.IdempotencyKey,
		RequestID:      o.RequestID,
		ReceivedAt:     o.serverTime,
		Attempt:        attempt,
		Traceparent:    traceparent(ctx),
	}
	if o.Event != nil {
		r.DeployedAt = o.Event.At
	}
	if o.Schedule != nil {
		r.ScheduledFor = o.Schedule.At
	}
	return suite.New(r)
}

// owns reports whether this call created the Suite.
func (o *operation) owns(s *v1alpha1.Suite) bool {
	return s.Annotations[suite.AnnotationRequestID] == o.RequestID
}

// firstAttempt is the cached attempt for this notification, or the latest: deleted earlier ones have freed their names. A schedule begins with
// one that has not ended, which may be an earlier one that still stops.
func (o *operation) firstAttempt(ctx context.Context, t *v1alpha1.Trigger, environment string) (int32, error) {
	if o.Notification.SHA == "" {
		return 1, nil
	}
	var suites v1alpha1.SuiteList
	key := client.MatchingFields{index.Run: index.RunKey(t.UID, environment, o.Notification.SHA)}
	if err := o.Cache.List(ctx, &suites, client.InNamespace(o.namespace), key, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("look up earlier attempts: %w", err)
	}
	own, unfinished, latest := int32(0), int32(0), int32(1)
	for _, s := range suites.Items {
		latest = max(latest, s.Spec.Attempt)
		if suite.NotifiedBy(&s, o.IdempotencyKey) {
			own = max(own, s.Spec.Attempt)
		}
		if o.Schedule != nil && !s.Finished() {
			unfinished = max(unfinished, s.Spec.Attempt)
		}
	}
	return cmp.Or(own, unfinished, latest), nil
}
