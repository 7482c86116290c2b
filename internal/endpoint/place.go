package endpoint

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apianswer"
)

// errVanished says that a Suite was there, and then was not: it is to be created after all.
var errVanished = &passing{"the Suite of that name was deleted meanwhile"}

// placement is a Suite on its way into the API server. It keeps what is known from one attempt to
// the next, since a slow API server need not be asked for everything again.
type placement struct {
	*order
	wanted   *v1alpha1.Suite
	refusal  error           // of the create: the name is taken, or the Suite is not to be
	existing *v1alpha1.Suite // what has the name
}

// place creates the Suite, and returns nil, or the Suite that has its name already.
func (o *order) place(ctx context.Context, wanted *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	p := &placement{order: o, wanted: wanted}
	err := o.hold.do(ctx, p.attempt)
	if errors.Is(err, errVanished) {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return p.existing, final(err, "the Suite")
}

// attempt looks for the Suite whatever the reason why it cannot be created: quotas and policies are
// asked before the name is looked at, and what they refuse now may have been created before, even by
// this request.
func (p *placement) attempt(ctx context.Context) error {
	if p.refusal == nil && !p.dryRun {
		err := p.api.Writer.Create(ctx, p.wanted.DeepCopy())
		if err == nil || transient(err) {
			return err
		}
		p.refusal = err
	}
	return p.look(ctx)
}

func (p *placement) look(ctx context.Context) error {
	existing := &v1alpha1.Suite{}
	switch err := p.api.Live.Get(ctx, client.ObjectKeyFromObject(p.wanted), existing); {
	case err == nil:
		p.existing = existing
		return nil
	case !apianswer.NotFound(err):
		return err
	case apierrors.IsAlreadyExists(p.refusal):
		p.refusal = nil
		return errVanished
	default:
		return p.refusal // none in a dry run: it would be created
	}
}
