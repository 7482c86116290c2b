package deployed

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Store keeps what was deployed. Its errors are temporary.
type Store interface {
	// SaveDeployment may be called again for a deployment, also by another leader.
	SaveDeployment(ctx context.Context, d record.Deployment) error
	// EndDeployments notes that the Environment is gone, if it has deployments.
	EndDeployments(ctx context.Context, team, environment string, at time.Time) error
}

const (
	// archiveWorkers are enough for 100 deployments a second.
	archiveWorkers = 4

	// storeEvery is how often a store is tried again that is unavailable, and how much later than it the archive is complete.
	storeEvery = 30 * time.Second

	// ownerEvery is how often to look for a Team that owns the namespace.
	ownerEvery = time.Minute
)

// Archiver writes the deployments of Environments to the store, apart from the Reconciler, which must not wait for it.
type Archiver struct {
	client.Client
	Store Store
	Clock clock.PassiveClock

	inventory *inventory
}

// SetupWithManager registers the archiver.
func (a *Archiver) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployments").
		For(&v1alpha1.Environment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: archiveWorkers, ReconciliationTimeout: retry.Timeout,
			RateLimiter: retry.Backoff()}).
		Complete(a)
}

// Reconcile saves what the stored status has and the store may lack. Each deployment is saved when it begins, and its end is the beginning
// of the next one.
func (a *Archiver) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	e, err := reconcile.Shared[v1alpha1.Environment](ctx, a, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	team, err := index.Owner(ctx, a, req.Namespace)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case team == nil && e == nil:
		a.inventory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	case team == nil:
		return ctrl.Result{RequeueAfter: ownerEvery}, nil
	case e == nil:
		if err = a.Store.EndDeployments(ctx, team.Name, req.Name, a.inventory.ended(req.NamespacedName, a.Clock.Now())); err == nil {
			a.inventory.forget(req.NamespacedName)
		}
	default:
		err = a.save(ctx, req, record.DeploymentsOf(team.Name, e))
	}
	if err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Info("the store does not take what was deployed", "reason", err.Error())
		return ctrl.Result{RequeueAfter: storeEvery}, nil
	}
	if err == nil && e != nil && len(e.Status.Unarchived) > 0 {
		a.inventory.caughtUp(req)
	}
	return ctrl.Result{}, err
}

func (a *Archiver) save(ctx context.Context, req ctrl.Request, all []record.Deployment) error {
	for _, d := range all {
		if a.inventory.has(req.NamespacedName, d) {
			continue
		}
		if err := a.Store.SaveDeployment(ctx, d); err != nil {
			return err
		}
		a.inventory.put(req.NamespacedName, d)
	}
	a.inventory.keep(req.NamespacedName, all)
	return nil
}
