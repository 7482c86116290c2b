// Package cluster reports whether other clusters let this Postflight in.
package cluster

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Clusters are spoke.Clients.
type Clusters interface {
	WhoAmI(ctx context.Context, cluster string, c delegation.Command) (httpapi.WhoAmI, error)
}

// Reconciler writes the status of Clusters. Requests do not depend on it.
type Reconciler struct {
	client.Client
	Clusters Clusters
}

const (
	// every is how often a cluster is asked: people see within two minutes that one is back.
	every = time.Minute
	// timeout of all questions to one cluster, and for how many Teams it is asked: each has TrustPolicies of its own there, but a message has
	// room for a few.
	timeout  = 20 * time.Second
	maxTeams = 50
	workers  = 8 // so that clusters that do not answer keep no other from being asked within a minute
)

// Add registers the reconciler with a manager.
func Add(mgr ctrl.Manager, clusters Clusters) error {
	return (&Reconciler{Client: mgr.GetClient(), Clusters: clusters}).SetupWithManager(mgr)
}

// +kubebuilder:rbac:groups=postflight.dev,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=clusters/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Cluster{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(named), reconcile.SpecChanged).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(retry.Conflicts(r))
}

// named is the Cluster of an Environment.
func named(_ context.Context, obj client.Object) []ctrl.Request {
	name := obj.(*v1alpha1.Environment).Spec.Cluster
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// Reconcile asks the cluster for each Team that has Environments there.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c, err := reconcile.Get[v1alpha1.Cluster](ctx, r, req.Namespace, req.Name)
	if err != nil || c == nil {
		return ctrl.Result{}, err
	}
	commands, teams, err := r.commands(ctx, c.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answers []delegation.Answer
	for _, command := range commands {
		who, err := r.Clusters.WhoAmI(asking, c.Name, command)
		answers = append(answers, delegation.Answer{Team: command.Team.Name, Actions: who.Actions, Err: err})
		if err != nil && asking.Err() != nil {
			break
		}
	}
	return ctrl.Result{RequeueAfter: every}, reconcile.SetReady(ctx, r, c, &c.Status.Conditions, delegation.Ready(answers, teams))
}

// commands returns a question for each of the first Teams, ordered by their namespaces, and how many Teams there are.
func (r *Reconciler) commands(ctx context.Context, cluster string) (commands []delegation.Command, teams int, err error) {
	elsewhere, err := index.Elsewhere(ctx, r, "")
	if err != nil {
		return nil, 0, err
	}
	for _, namespace := range delegation.Namespaces(elsewhere, cluster) {
		team, err := index.Owner(ctx, r, namespace)
		if err != nil {
			return nil, 0, fmt.Errorf("look up the Team of the namespace %s: %w", namespace, err)
		}
		if team == nil {
			continue
		}
		if teams++; len(commands) < maxTeams {
			commands = append(commands, delegation.Command{Team: team, RequestID: "status-of-" + cluster, Delegation: delegation.Delegation{
				For: "the status of the Cluster", Environments: delegation.EnvironmentsOf(elsewhere, cluster, namespace),
			}})
		}
	}
	return commands, teams, nil
}
