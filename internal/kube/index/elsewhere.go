package index

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func isElsewhere(e *v1alpha1.Environment) string {
	if e.Spec.Cluster == "" {
		return ""
	}
	return "true"
}

// Elsewhere returns the Environments of a namespace, or of all, that other clusters have. They are shared with the cache.
func Elsewhere(ctx context.Context, c client.Reader, namespace string) ([]*v1alpha1.Environment, error) {
	all, err := Environments(ctx, c, namespace, client.MatchingFields{elsewhere: "true"})
	if err != nil {
		return nil, fmt.Errorf("look up the Environments of other clusters: %w", err)
	}
	return all, nil
}
