package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/accounttoken"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/pages/overview"
	"github.com/postflight-dev/postflight/internal/spoke"
	"github.com/postflight-dev/postflight/internal/usecase/clusters"
)

// clusterOptions are the flags of a hub.
type clusterOptions struct {
	keys string
}

func (o *clusterOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.keys, "cluster-keys", "",
		"folder with API keys for other clusters, in files CLUSTER.TEAM such as those of a mounted Secret: for Clusters whose "+
			"spec.credential is Key; read again for each request")
}

// validate also looks for the folder, so that a wrong path fails at once.
func (o *clusterOptions) validate() error {
	if o.keys == "" {
		return nil
	}
	info, err := os.Stat(o.keys)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", o.keys)
	}
	if err != nil {
		return fmt.Errorf("--cluster-keys: %w", err)
	}
	return nil
}

// newClusters returns nil for a manager that sees only some namespaces: it may not read the Clusters.
func newClusters(mgr ctrl.Manager, o options, clock clock.PassiveClock) (*spoke.Clients, error) {
	if o.scope.Limited() {
		return nil, nil
	}
	writer, err := newWriter(mgr)
	if err != nil {
		return nil, err
	}
	tokens := &accounttoken.Source{Client: writer, Clock: clock}
	return spoke.New(spoke.Config{
		Cluster: clusterReader(mgr.GetCache()),
		Token:   tokens.Token, Keys: o.clusters.keys, Hub: cmp.Or(o.codeHosts.clusterName, o.publicURL), HTTP: outbound.Streaming,
	}), nil
}

// clusterReader returns a function that returns nil if there is no Cluster of the name.
func clusterReader(c client.Reader) func(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
	return func(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
		cluster := &v1alpha1.Cluster{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy); err != nil {
			return nil, apierror.IgnoreNotFound(err)
		}
		return cluster, nil
	}
}

// clustersOfPages is nil if this manager is no hub.
func clustersOfPages(c client.Reader, source *spoke.Clients) overview.Clusters {
	if source == nil {
		return nil
	}
	return clusters.New(clusters.Config{Source: source, Cluster: clusterReader(c), Limits: clusters.DefaultLimits(), Clock: clock.RealClock{}})
}

// hub returns nil instead of an interface that holds nil.
func hub[T any](c *spoke.Clients) (clusters T) {
	if c != nil {
		clusters, _ = any(c).(T)
	}
	return clusters
}
