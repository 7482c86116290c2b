package endpoint

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/index"
	"github.com/postflight-dev/postflight/internal/suite"
)

// suite creates the Suite of a Trigger, or finds the one that makes it a duplicate.
//
// That the name is taken is no proof of a duplicate. The Suite may be this request's own, created by
// an attempt whose answer was lost; then it was created, by this request. It may be something else
// of that name. Or it may be an attempt without a result, or one that the Trigger asks to repeat.
func (o *order) suite(ctx context.Context, t *v1alpha1.Trigger, environment string) (string, decision, error) {
	attempt, err := o.firstAttempt(ctx, t, environment)
	for ; err == nil && attempt <= v1alpha1.MaxAttempt; attempt++ {
		wanted := o.wanted(t, environment, attempt)
		var existing *v1alpha1.Suite
		existing, err = o.place(ctx, t, wanted)
		switch {
		case err != nil:
		case existing == nil || o.owns(existing):
			return wanted.Name, created, nil
		case !suite.SameRun(existing, wanted):
			return "", "", refusef("The name %s belongs to a Suite that is not a run of this notification. Delete that Suite, and send the notification again.", wanted.Name)
		default:
			var again bool
			if again, err = o.runsAgain(ctx, t, existing, wanted); err == nil && !again {
				return wanted.Name, duplicate, nil
			}
		}
	}
	if err == nil {
		err = refusef("There are %d attempts of this run already, which is as many as can be counted. Delete its Suites, and send the notification again.", v1alpha1.MaxAttempt)
	}
	return "", "", err
}

func (o *order) wanted(t *v1alpha1.Trigger, environment string, attempt int32) *v1alpha1.Suite {
	return suite.New(suite.Request{
		Trigger:        t,
		Environment:    environment,
		Notification:   o.notification,
		IdempotencyKey: o.idempotencyKey,
		RequestID:      o.id,
		ReceivedAt:     o.serverTime,
		Attempt:        attempt,
	})
}

// owns reports whether this very request created the Suite.
func (o *order) owns(s *v1alpha1.Suite) bool { return s.Annotations[suite.AnnotationRequest] == o.id }

// runsAgain reports whether a run that exists leaves room for another attempt.
func (o *order) runsAgain(ctx context.Context, t *v1alpha1.Trigger, existing, wanted *v1alpha1.Suite) (bool, error) {
	stream, err := o.api.streamOf(ctx, existing)
	return err == nil && suite.RunsAgain(existing, wanted, stream, t.Spec.Duplicates), err
}

// firstAttempt is the attempt to begin with: the latest that the cache knows, since earlier ones may
// have been deleted after their time and would seem free. A cache that lags costs a step more.
func (o *order) firstAttempt(ctx context.Context, t *v1alpha1.Trigger, environment string) (int32, error) {
	if o.notification.SHA == "" {
		return 1, nil
	}
	key := index.RunKey(t.UID, environment, o.notification.SHA)
	var suites v1alpha1.SuiteList
	err := o.api.Cache.List(ctx, &suites, client.InNamespace(o.namespace), client.MatchingFields{index.Run: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return 0, fmt.Errorf("look up earlier attempts: %w", err)
	}
	latest := int32(1)
	for _, s := range suites.Items {
		latest = max(latest, s.Spec.Attempt)
	}
	return latest, nil
}
