package suite

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// readLedger reads what was deployed to the Environment of a run, also if that is gone.
func (r *Reconciler) readLedger(ctx context.Context, o *lifecycle.Observation) error {
	return r.readLedgerOf(ctx, r, o, client.UnsafeDisableDeepCopy)
}

func (r *Reconciler) readLedgerOf(
	ctx context.Context, environments client.Reader, o *lifecycle.Observation, options ...client.GetOption,
) error {
	e, err := reconcile.Get[v1alpha1.Environment](ctx, environments, o.Suite.Namespace, o.Suite.Spec.Environment, options...)
	if err != nil {
		return err
	}
	if e == nil {
		e = &v1alpha1.Environment{}
		e.Name, e.UID = o.Suite.Spec.Environment, o.Suite.Spec.EnvironmentUID
	}
	runs, err := r.suites(ctx, o.Suite.Namespace, client.MatchingFields{index.Deployed: e.Name})
	o.Ledger = ledger.Of(e, runs)
	return err
}

// errBehind means that the cache lacks a write that it should have.
var errBehind = errors.New("the cache does not have all deployments yet")

// completeLedger also knows what was deployed just before. After a lost connection, the watch that has shown the end of the tests may be
// ahead of the one that shows new runs by seconds. The order of what a watch shows is certain: once the cache has a write to this run that
// followed the end, it has all that was deployed before it. The Environment has a watch of its own, so it is read from the API server.
func (r *Reconciler) completeLedger(ctx context.Context, o *lifecycle.Observation) error {
	known, err := r.hasWrite(ctx, o.Suite)
	if err != nil {
		return err
	}
	if !known {
		if err := r.catchUp(ctx, o); err != nil {
			return err
		}
	}
	o.Complete = true
	return r.readLedgerOf(ctx, r.Live, o)
}

// catchUp writes to a run, and returns once the cache has that. It leaves out of the answer what the cache does not have of a run.
func (r *Reconciler) catchUp(ctx context.Context, o *lifecycle.Observation) error {
	s := o.Suite.DeepCopy()
	s.Status.DeploymentsReadAt = suite.MicroTime(r.Clock.Now())
	if err := r.Status().Patch(ctx, s, client.MergeFromWithOptions(o.Suite, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	version, at := s.ResourceVersion, s.Status.DeploymentsReadAt
	o.Suite = o.Suite.DeepCopy()
	o.Suite.ResourceVersion, o.Suite.Status.DeploymentsReadAt = version, at
	if at == nil { // CRDs of an earlier version drop it, and nothing can be waited for
		return nil
	}
	known, err := r.hasWrite(ctx, o.Suite)
	if err == nil && !known {
		err = errBehind
	}
	return err
}

// hasWrite reports whether the cache has the write that followed the end of a run, or the deletion of the run.
func (r *Reconciler) hasWrite(ctx context.Context, s *v1alpha1.Suite) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	cached, err := reconcile.Shared[v1alpha1.Suite](ctx, r, s.Namespace, s.Name)
	return cached == nil || cached.Status.DeploymentsReadAt != nil, err
}
