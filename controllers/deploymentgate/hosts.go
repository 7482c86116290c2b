package deploymentgate

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// hosts have the credentials of gates.
type hosts struct {
	live   client.Reader // reads Secrets, which are not cached
	byName map[v1alpha1.HostingService]CodeHostConfig
}

// credentials returns the credentials of a gate, or a sentence that says why there are none. The manager's own are used, also to reject,
// only for repositories that the Team lists.
func (h hosts) credentials(ctx context.Context, t report.Target, g *v1alpha1.DeploymentGate, team *v1alpha1.Team) (
	c report.Credentials, problem string, err error,
) {
	host, known := h.byName[t.Host]
	ref := g.Spec.Credentials
	switch {
	case !known:
		return c, fmt.Sprintf("This version of the manager does not know the code host %s.", t.Host), nil
	case ref != nil:
		key := client.ObjectKey{Namespace: g.Namespace, Name: ref.SecretRef.Name}
		return reconcile.CodeHostCredentials(ctx, h.live, t.Host, key, "spec.credentials of the DeploymentGate")
	case host.Own == nil:
		return c, fmt.Sprintf("The gate names no credentials, and the manager has none of its own for %s. Name some in spec.credentials.",
			t.Host), nil
	case t.Repository != "" && !h.allowed(t, team):
		return c, fmt.Sprintf("spec.repositories of the Team does not list %s, so the manager's own credentials are not used there. "+
			"List it, or name credentials in the gate.", plaintext.Line(t.Repository, maxRepository)), nil
	}
	if c, err = host.Own(); err != nil {
		return c, fmt.Sprintf("The manager cannot read its own credentials for %s. Tell the operator of this service.", t.Host), nil
	}
	return c, "", nil
}

const maxRepository = 256 // bytes, as in the schema

// allowed reports whether the manager's own credentials are for a repository of a Team.
func (h hosts) allowed(t report.Target, team *v1alpha1.Team) bool {
	return team != nil && report.Allowed(t, h.byName[t.Host].Name, team.Spec.Repositories)
}
