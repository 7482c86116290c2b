package reconcile

import (
	"context"
	"errors"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Ledgers reads what was deployed to the Environment of a run, for the leader.
type Ledgers struct {
	Client client.Client // reads from the cache
	Live   client.Reader // reads from the API server
	Clock  clock.PassiveClock
}

// Cached is the ledger that the cache has, also if the Environment is gone.
func (r Ledgers) Cached(ctx context.Context, s *v1alpha1.Suite) (*ledger.Ledger, error) {
	return r.read(ctx, r.Client, s, client.UnsafeDisableDeepCopy)
}

func (r Ledgers) read(
	ctx context.Context, environments client.Reader, s *v1alpha1.Suite, options ...client.GetOption,
) (*ledger.Ledger, error) {
	e, err := Get[v1alpha1.Environment](ctx, environments, s.Namespace, s.Spec.Environment, options...)
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &v1alpha1.Environment{}
		e.Name, e.UID = s.Spec.Environment, s.Spec.EnvironmentUID
	}
	runs, err := index.Suites(ctx, Known(r.Client), s.Namespace, index.Deployed, e.Name)
	if err != nil {
		return nil, err
	}
	return ledger.Of(e, runs), nil
}

// errBehind means that the cache lacks a write that it should have.
var errBehind = errors.New("the cache does not have all deployments yet")

// Complete also has what was deployed just before the tests of a run ended. It may change the run, and returns it as it is then.
//
// After a lost connection, the watch of Jobs, which has shown the end, may be ahead of the watch of Suites by seconds. The order of what a
// watch shows is certain: once the cache has a write to this run that followed the end, it has all that was deployed before it. The
// Environment has a watch of its own, so it is read from the API server.
func (r Ledgers) Complete(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, *ledger.Ledger, error) {
	known, err := r.hasWrite(ctx, s)
	if err == nil && !known {
		s, err = r.catchUp(ctx, s)
	}
	if err != nil {
		return s, nil, err
	}
	l, err := r.read(ctx, r.Live, s)
	return s, l, err
}

// catchUp writes to a run, and returns once the cache has that. It leaves out of the answer what the cache does not have of a run.
func (r Ledgers) catchUp(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	answer := s.DeepCopy()
	answer.Status.DeploymentsReadAt = suite.MicroTime(r.Clock.Now())
	err := r.Client.Status().Patch(ctx, answer, client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return s, err
	}
	written := s.DeepCopy()
	written.ResourceVersion, written.Status.DeploymentsReadAt = answer.ResourceVersion, answer.Status.DeploymentsReadAt
	if written.Status.DeploymentsReadAt == nil { // CRDs of an earlier version drop it, and nothing can be waited for
		return written, nil
	}
	known, err := r.hasWrite(ctx, written)
	if err == nil && !known {
		err = errBehind
	}
	return written, err
}

// hasWrite waits for at most CacheTimeout. It reports whether the cache has the write that followed the end of a run, or the deletion of
// the run.
func (r Ledgers) hasWrite(ctx context.Context, s *v1alpha1.Suite) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, CacheTimeout)
	defer cancel()
	cached, err := Shared[v1alpha1.Suite](ctx, r.Client, s.Namespace, s.Name)
	return cached == nil || cached.Status.DeploymentsReadAt != nil, err
}
