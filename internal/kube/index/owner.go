package index

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Objects that these functions return are shared with the cache: read them, never change them.

// Owner returns the Team that owns a namespace, as v1alpha1.Owner defines it, or nil.
func Owner(ctx context.Context, c client.Reader, namespace string) (*v1alpha1.Team, error) {
	teams, err := Claimants(ctx, c, namespace)
	return v1alpha1.Owner(teams), err
}

// Claimants returns the Teams that claim a namespace. There should be one.
func Claimants(ctx context.Context, c client.Reader, namespace string) ([]v1alpha1.Team, error) {
	list := &v1alpha1.TeamList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingFields{claimedNamespace: namespace}); err != nil {
		return nil, fmt.Errorf("look up the Team of the namespace: %w", err)
	}
	return list.Items, nil
}

// Claims returns the Teams that claim the namespaces of the keys.
func Claims(ctx context.Context, c client.Reader, keys []v1alpha1.APIKey) (apikey.Claims, error) {
	claims := apikey.Claims{}
	for i := range keys {
		namespace := keys[i].Namespace
		if _, known := claims[namespace]; known {
			continue
		}
		teams, err := Claimants(ctx, c, namespace)
		if err != nil {
			return nil, err
		}
		claims[namespace] = teams
	}
	return claims, nil
}

// Keys returns the APIKeys with a hash, in one namespace, or in all if it is "".
func Keys(ctx context.Context, c client.Reader, namespace, hash string) ([]v1alpha1.APIKey, error) {
	list := &v1alpha1.APIKeyList{}
	err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace), client.MatchingFields{keyHash: hash})
	if err != nil {
		return nil, fmt.Errorf("look up API keys: %w", err)
	}
	return list.Items, nil
}

// StreamOf lists the runs of a run's stream that the cache has.
func StreamOf(ctx context.Context, cache client.Reader, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	key := suite.StreamKey(s)
	if key == "" {
		return nil, nil
	}
	return Suites(ctx, cache, s.Namespace, Stream, key)
}

// Suites lists the Suites of a namespace whose field has the value.
func Suites(ctx context.Context, cache client.Reader, namespace, field, value string) ([]*v1alpha1.Suite, error) {
	return SuitesWith(ctx, cache, client.InNamespace(namespace), client.MatchingFields{field: value})
}

// SuitesWith lists the Suites that the options select. A cache of NewCache makes no copies of them.
func SuitesWith(ctx context.Context, cache client.Reader, options ...client.ListOption) ([]*v1alpha1.Suite, error) {
	list, shared := &v1alpha1.SuiteList{}, &sharedSuites{}
	if err := cache.List(ctx, list, append(slices.Clip(options), client.UnsafeDisableDeepCopy, shared)...); err != nil {
		return nil, err
	}
	if shared.all != nil {
		return shared.all, nil
	}
	suites := make([]*v1alpha1.Suite, len(list.Items))
	for i := range list.Items {
		suites[i] = &list.Items[i]
	}
	return suites, nil
}
