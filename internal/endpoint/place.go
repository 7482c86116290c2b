package endpoint

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/suite"
)

// errVanished says that a Suite was there, and then was not: it is to be created after all.
var errVanished = &passing{"the Suite of that name was deleted meanwhile"}

// errSuiteTerminating says that a Suite of the wanted name is on its way out: it stays until its Job
// and its pods are gone.
var errSuiteTerminating = &passing{"the Suite of that name is being deleted"}

// placement is a Suite on its way into the API server. It keeps what is known from one attempt to
// the next, since a slow API server need not be asked for everything again.
type placement struct {
	*order
	trigger  *v1alpha1.Trigger
	wanted   *v1alpha1.Suite
	refusal  error           // of the create: the name is taken, or the Suite is not to be
	existing *v1alpha1.Suite // what has the name
}

// place creates the Suite, and returns nil, or the Suite that has its name already.
func (o *order) place(ctx context.Context, t *v1alpha1.Trigger, wanted *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	p := &placement{order: o, trigger: t, wanted: wanted}
	err := o.hold.do(ctx, p.attempt)
	if p.refusal != nil && !o.dryRun && !apierrors.IsAlreadyExists(p.refusal) {
		o.api.suites.release(client.ObjectKeyFromObject(wanted))
	}
	switch {
	case errors.Is(err, errVanished):
		return nil, fmt.Errorf("%w: %w", errGone, err)
	case errors.Is(err, errSuiteTerminating):
		return nil, refusef("The run %s of this notification is being deleted, and is not gone yet. Send the notification again in a minute.", wanted.Name)
	}
	return p.existing, final(err, "the Suite")
}

// attempt looks for the Suite whatever the reason why it cannot be created: bounds, quotas and policies
// are asked before the name is looked at, and what they refuse now may have been created before, even by
// this request.
func (p *placement) attempt(ctx context.Context) error {
	if p.refusal == nil {
		p.refusal = p.reserve(ctx)
	}
	if p.refusal == nil && !p.dryRun {
		err := p.api.Writer.Create(ctx, p.wanted.DeepCopy())
		if err == nil || transient(err) {
			return err
		}
		p.refusal = err
	}
	return p.look(ctx)
}

// reserve refuses a Suite that is one too many for the team. One that the cache knows is counted already.
func (p *placement) reserve(ctx context.Context) error {
	key := client.ObjectKeyFromObject(p.wanted)
	if p.dryRun {
		return p.api.suites.full(p.namespace, p.bounds, p.api.Now())
	}
	if p.api.Cache.Get(ctx, key, &v1alpha1.Suite{}, client.UnsafeDisableDeepCopy) == nil {
		return nil
	}
	return p.api.suites.reserve(key, p.bounds, p.api.Now())
}

// look finds what has the name. Where that is on its way out, the name will be free.
func (p *placement) look(ctx context.Context) error {
	existing := &v1alpha1.Suite{}
	err := p.api.Live.Get(ctx, client.ObjectKeyFromObject(p.wanted), existing)
	switch {
	case err == nil && !p.goes(existing):
		p.existing = existing
		return nil
	case err != nil && !apierror.NotFound(err):
		return err
	case !apierrors.IsAlreadyExists(p.refusal):
		return p.refusal // none in a dry run: it would be created
	}
	p.refusal = nil
	if err == nil {
		return errSuiteTerminating
	}
	return errVanished
}

// goes reports whether a Suite is as good as gone, though it has the name still. It is no run to lead
// anyone to, unless it is this request's own, and nothing to wait for where another attempt follows.
func (p *placement) goes(existing *v1alpha1.Suite) bool {
	return existing.DeletionTimestamp != nil && !p.owns(existing) &&
		(!suite.SameRun(existing, p.wanted) || !suite.RunsAgain(existing, p.wanted, nil, p.trigger.Spec.Duplicates))
}
