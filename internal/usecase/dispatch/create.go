package dispatch

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

var (
	errSuiteVanished    = errors.New("the Suite of that name was deleted meanwhile")
	errSuiteTerminating = errors.New("the Suite of that name is being deleted") // its Job and pods are not gone
)

// suiteCreation keeps the results of earlier attempts, to spare a slow API server repeated requests.
type suiteCreation struct {
	*operation
	trigger  *v1alpha1.Trigger
	desired  *v1alpha1.Suite
	refusal  error           // of the create: the name is taken, or the Suite is not allowed
	existing *v1alpha1.Suite // has the name
	tried    bool
}

// createOrGet creates the Suite, or returns the one with its name. In a dry run that would create it, it returns nil.
func (o *operation) createOrGet(ctx context.Context, t *v1alpha1.Trigger, desired *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	c := &suiteCreation{operation: o, trigger: t, desired: desired}
	err := o.retrier.do(ctx, c.attempt)
	if c.refusal != nil && o.Mode != DryRun && !apierrors.IsAlreadyExists(c.refusal) {
		o.suites.release(client.ObjectKeyFromObject(desired))
	}
	switch {
	case errors.Is(err, errSuiteVanished):
		return nil, fmt.Errorf("%w: %w", errNamespaceGone, err)
	case errors.Is(err, errSuiteTerminating):
		return nil, reject("The run %s of this notification is being deleted, and is not gone yet. "+
			"Send the notification again in a minute.", desired.Name)
	}
	return c.existing, rejection(err, "the Suite")
}

// attempt looks for the Suite whatever the refusal: quotas are checked before the name, and an earlier attempt may have created it.
func (c *suiteCreation) attempt(ctx context.Context) error {
	if c.refusal == nil {
		c.refusal = c.reserve(ctx)
	}
	if c.refusal == nil && c.Mode != DryRun {
		created := c.desired.DeepCopy()
		err := c.create(ctx, created)
		if err == nil {
			c.existing = created
		}
		if err == nil || retryable(err) {
			return err
		}
		c.refusal = err
	}
	return c.get(ctx)
}

// create yields to other teams. Repeated attempts, most of them after an outage, wait for no others: their time is limited.
func (c *suiteCreation) create(ctx context.Context, s *v1alpha1.Suite) error {
	if !c.tried {
		c.tried = true
		defer c.creating.Acquire(ctx, c.Team.Name)()
	}
	return c.Writer.Create(ctx, s)
}

// reserve does not count Suites in the cache again.
func (c *suiteCreation) reserve(ctx context.Context) error {
	key := client.ObjectKeyFromObject(c.desired)
	if c.Mode == DryRun {
		return c.suites.full(c.namespace, c.bounds, c.Clock.Now())
	}
	if c.Cache.Get(ctx, key, &v1alpha1.Suite{}, client.UnsafeDisableDeepCopy) == nil {
		return nil
	}
	return c.suites.reserve(key, c.bounds, c.Clock.Now())
}

func (c *suiteCreation) get(ctx context.Context) error {
	existing := &v1alpha1.Suite{}
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(c.desired), existing)
	switch {
	case err == nil && !c.terminating(existing):
		c.existing = existing
		return nil
	case err != nil && !apierror.NotFound(err):
		return err
	case !apierrors.IsAlreadyExists(c.refusal):
		return c.refusal // nil in a dry run: the Suite would be created
	}
	c.refusal = nil
	if err == nil {
		return errSuiteTerminating
	}
	return errSuiteVanished
}

// terminating reports whether to wait for a deletion. What this call created, or another attempt replaces, needs no wait. What was deployed
// since does not matter: the name will be free.
func (c *suiteCreation) terminating(existing *v1alpha1.Suite) bool {
	r := c.duplicateOf(c.trigger)
	r.Ledger = ledger.Of(&v1alpha1.Environment{}, nil)
	return existing.DeletionTimestamp != nil && !c.owns(existing) &&
		(!suite.SameRun(existing, c.desired) || !rerun.StartsAttempt(existing, c.desired, r))
}
