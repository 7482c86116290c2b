package endpoint

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// indexRun finds the attempts of one run: the Suites of (trigger, environment, SHA).
const indexRun = "endpoint.run"

// SetupIndexes adds the index that the API finds earlier attempts by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.Suite{}, indexRun, runsOf); err != nil {
		return fmt.Errorf("index Suites by what they run: %w", err)
	}
	return nil
}

func runsOf(o client.Object) []string {
	if key := runKey(o.(*v1alpha1.Suite)); key != "" {
		return []string{key}
	}
	return nil
}

// runKey is empty for a Suite without a SHA, which has no other attempts that could be looked up.
func runKey(s *v1alpha1.Suite) string {
	if s.Spec.Deployment.SHA == "" {
		return ""
	}
	return strings.Join([]string{string(s.Spec.Trigger.UID), s.Spec.Environment, s.Spec.Deployment.SHA}, "\x00")
}
