package index

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// TrustPolicies returns those with one of the keys, in one namespace, or in all if it is "".
func TrustPolicies(ctx context.Context, c client.Reader, namespace string, keys []string) (policies []*v1alpha1.TrustPolicy, err error) {
	for _, key := range keys {
		list := &v1alpha1.TrustPolicyList{}
		err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace), client.MatchingFields{trustKey: key})
		if err != nil {
			return nil, fmt.Errorf("look up TrustPolicies: %w", err)
		}
		for _, p := range list.Items {
			policies = append(policies, &p)
		}
	}
	return policies, nil
}

// Team returns a Team by its name, or nil.
func Team(ctx context.Context, c client.Reader, name string) (*v1alpha1.Team, error) {
	team := &v1alpha1.Team{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, team, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, apierror.IgnoreNotFound(err)
	}
	return team, nil
}
