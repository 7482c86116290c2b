package environments

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// Cluster has the Environments of a namespace.
type Cluster struct {
	*access.Cluster

	All bool // those of all namespaces
}

func (c *Cluster) Environment(ctx context.Context, name string) (*client.EnvironmentStatus, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := c.status(ctx, c.Namespace, []v1alpha1.Environment{*e})
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

func (c *Cluster) get(ctx context.Context, name string) (*v1alpha1.Environment, error) {
	e := &v1alpha1.Environment{}
	return e, c.Get(ctx, "Environment", name, e)
}

// EnvironmentAt knows the present and the previous deployment. The archive is behind the server.
func (c *Cluster) EnvironmentAt(ctx context.Context, name string, at time.Time) (*client.EnvironmentStatus, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return nil, err
	}
	s := record.EnvironmentAt(c.Teams(ctx)[e.Namespace], e, nil, at)
	if len(s.Deployed) == 0 {
		return nil, fmt.Errorf("the cluster does not know what %s had on %s. %s", name, at.UTC().Format(time.RFC3339), askServer)
	}
	return &s, nil
}

const askServer = "Earlier deployments are in the archive: set POSTFLIGHT_URL and POSTFLIGHT_API_KEY to ask the server"

func (c *Cluster) EnvironmentHistory(ctx context.Context, name string, since time.Time, limit int) (*client.DeploymentHistory, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return nil, err
	}
	c.Console.Note("The cluster knows only the last deployments. %s.", askServer)
	return new(record.HistoryOf(c.Teams(ctx)[e.Namespace], e, nil, since, limit)), nil
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
	if err := c.List(ctx, "Environments", c.All, &list); err != nil {
		return nil, err
	}
	all, err := c.status(ctx, namespace, list.Items)
	slices.SortFunc(all, func(a, b client.EnvironmentStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, err
}

// status lists the runs only if an Environment may have to settle.
func (c *Cluster) status(ctx context.Context, namespace string, environments []v1alpha1.Environment) ([]client.EnvironmentStatus, error) {
	runs := &v1alpha1.SuiteList{}
	if slices.ContainsFunc(environments, func(e v1alpha1.Environment) bool { return e.Spec.Settle != nil }) {
		if err := c.Client.List(ctx, runs, crclient.InNamespace(namespace)); err != nil {
			return nil, c.ExplainError(err, "Suites")
		}
	}
	type key struct{ namespace, environment string }
	own := map[key][]*v1alpha1.Suite{}
	for i := range runs.Items {
		k := key{runs.Items[i].Namespace, runs.Items[i].Spec.Environment}
		own[k] = append(own[k], &runs.Items[i])
	}
	teams, now := c.Teams(ctx), c.Clock.Now()
	all := make([]client.EnvironmentStatus, 0, len(environments))
	for i := range environments {
		e := &environments[i]
		s := record.EnvironmentOf(teams[e.Namespace], e, now)
		s.Settling = queue.SettlingOf(e, queue.BurstOf(e, own[key{e.Namespace, e.Name}]), now)
		all = append(all, s)
	}
	return all, nil
}
