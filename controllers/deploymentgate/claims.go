package deploymentgate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// claims returns all teams that have a gate for a deployment, and may use the manager's own credentials for it. Each team can send events
// of its own, so it does not matter through which source the question came. A suspended team keeps its claim.
func (r *Reviews) claims(ctx context.Context, t report.Target, environment string) (claims []gate.Claim, err error) {
	list := &v1alpha1.DeploymentGateList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range list.Items {
		g := &list.Items[i]
		at := gate.Place{Source: g.Spec.Source, Host: t.Host, Repository: t.Repository, Environment: environment}
		if known[g.Namespace] || g.Spec.Credentials != nil || len(gate.Matching(list.Items[i:i+1], at)) == 0 {
			continue
		}
		source, err := reconcile.Shared[v1alpha1.EventSource](ctx, r, g.Namespace, g.Spec.Source)
		if err != nil {
			return nil, err
		}
		if source == nil || gate.HostOf(source) != t.Host || !event.Covers(source.Spec.Repositories, t.Repository) {
			continue
		}
		team, err := index.Owner(ctx, r, g.Namespace)
		if err != nil {
			return nil, err
		}
		if r.hosts.allowed(t, team) {
			claims, known[g.Namespace] = append(claims, gate.Claim{Namespace: g.Namespace, Team: team}), true
		}
	}
	return claims, nil
}
