package environments

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// Cluster has the Environments of a namespace.
type Cluster struct {
	*access.Cluster

	All bool // those of all namespaces
}

func (c *Cluster) Environment(ctx context.Context, name string) (*client.EnvironmentStatus, error) {
	e := &v1alpha1.Environment{}
	if err := c.Client.Get(ctx, crclient.ObjectKey{Namespace: c.Namespace, Name: name}, e); err != nil {
		return nil, c.ExplainError(err, fmt.Sprintf("Environment %q", name))
	}
	return new(record.EnvironmentOf(c.Teams(ctx)[e.Namespace], e)), nil
}

func (c *Cluster) Environments(ctx context.Context) iter.Seq2[client.EnvironmentStatus, error] {
	return func(yield func(client.EnvironmentStatus, error) bool) {
		all, err := c.list(ctx)
		if err != nil {
			yield(client.EnvironmentStatus{}, err)
			return
		}
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c *Cluster) list(ctx context.Context) ([]client.EnvironmentStatus, error) {
	list, namespace := v1alpha1.EnvironmentList{}, c.Namespace
	if c.All {
		namespace = ""
	}
	if err := c.Client.List(ctx, &list, crclient.InNamespace(namespace)); err != nil {
		return nil, c.ExplainError(err, "Environments")
	}
	if len(list.Items) == 0 && !c.All {
		return nil, c.CheckNamespace(ctx)
	}
	teams := c.Teams(ctx)
	all := make([]client.EnvironmentStatus, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, record.EnvironmentOf(teams[list.Items[i].Namespace], &list.Items[i]))
	}
	slices.SortFunc(all, func(a, b client.EnvironmentStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}
