package endpoint

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// indexRun finds the attempts of one run: the Suites of (trigger, environment, SHA).
const indexRun = "endpoint.run"

// indexStream finds the Suites that supersede each other.
const indexStream = "endpoint.stream"

// SetupIndexes adds the indexes that the API finds earlier attempts and newer runs by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.Suite{}, indexRun, runsOf); err != nil {
		return fmt.Errorf("index Suites by what they run: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Suite{}, indexStream, streamKey); err != nil {
		return fmt.Errorf("index Suites by their stream: %w", err)
	}
	return nil
}

func streamKey(o client.Object) []string {
	if key := suite.StreamKey(o.(*v1alpha1.Suite)); key != "" {
		return []string{key}
	}
	return nil
}

func runsOf(o client.Object) []string {
	s := o.(*v1alpha1.Suite)
	if s.Spec.Deployment.SHA == "" {
		return nil // has no other attempts that could be looked up
	}
	return []string{runKey(s.Spec.Trigger.UID, s.Spec.Environment, s.Spec.Deployment.SHA)}
}

func runKey(trigger types.UID, environment, sha string) string {
	return strings.Join([]string{string(trigger), environment, sha}, "\x00")
}
