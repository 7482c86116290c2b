package dispatch

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/suite"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// StreamOf lists the runs of a run's stream that the cache has, and shares them with it.
func StreamOf(ctx context.Context, cache client.Reader, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	key := suite.StreamKey(s)
	if key == "" {
		return nil, nil
	}
	return listSuites(ctx, cache, s.Namespace, index.Stream, key)
}

func listSuites(ctx context.Context, cache client.Reader, namespace, field, value string) ([]*v1alpha1.Suite, error) {
	var list v1alpha1.SuiteList
	err := cache.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	suites := make([]*v1alpha1.Suite, len(list.Items))
	for i := range list.Items {
		suites[i] = &list.Items[i]
	}
	return suites, nil
}
