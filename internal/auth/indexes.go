package auth

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	indexSHA256    = "spec.sha256"
	indexNamespace = "auth.namespace" // the namespace that belongs to a Team, named or by default
)

// SetupIndexes adds the indexes that an Authenticator looks keys and teams up by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.APIKey{}, indexSHA256, keyDigest); err != nil {
		return fmt.Errorf("index APIKeys by their digest: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Team{}, indexNamespace, teamNamespace); err != nil {
		return fmt.Errorf("index Teams by their namespace: %w", err)
	}
	return nil
}

func keyDigest(o client.Object) []string {
	return []string{o.(*v1alpha1.APIKey).Spec.SHA256}
}

func teamNamespace(o client.Object) []string {
	return []string{o.(*v1alpha1.Team).NamespaceName()}
}
