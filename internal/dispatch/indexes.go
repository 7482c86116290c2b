package dispatch

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

const (
	indexRun    = "dispatch.run"    // the attempts of one run: the Suites of (trigger, environment, SHA)
	indexStream = "dispatch.stream" // the Suites that supersede each other
)

// SetupIndexes adds the indexes of the cache that find earlier attempts and newer runs.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, keys := range map[string]client.IndexerFunc{indexRun: runKeys, indexStream: streamKeys} {
		if err := indexer.IndexField(ctx, &v1alpha1.Suite{}, field, keys); err != nil {
			return fmt.Errorf("index Suites by %s: %w", field, err)
		}
	}
	return nil
}

// StreamOf lists the runs of a run's stream that the cache has, and shares them with it.
func StreamOf(ctx context.Context, cache client.Reader, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	key := suite.StreamKey(s)
	if key == "" {
		return nil, nil
	}
	var list v1alpha1.SuiteList
	err := cache.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{indexStream: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	stream := make([]*v1alpha1.Suite, len(list.Items))
	for i := range list.Items {
		stream[i] = &list.Items[i]
	}
	return stream, nil
}

func streamKeys(o client.Object) []string {
	if key := suite.StreamKey(o.(*v1alpha1.Suite)); key != "" {
		return []string{key}
	}
	return nil
}

// runKeys is empty without a SHA: such a run has no other attempts that could be looked up.
func runKeys(o client.Object) []string {
	s := o.(*v1alpha1.Suite)
	if s.Spec.Deployment.SHA == "" {
		return nil
	}
	return []string{runKey(s.Spec.Trigger.UID, s.Spec.Environment, s.Spec.Deployment.SHA)}
}

func runKey(trigger types.UID, environment, sha string) string {
	return strings.Join([]string{string(trigger), environment, sha}, "\x00")
}
