package controllers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// The fields by which the cache finds Suites and Teams without a scan.
const (
	indexStream      = "stream"         // Suite: suite.StreamKey
	indexUnfinished  = "unfinished"     // Suite: "true" for those that have not ended
	indexEnvironment = "environment"    // Suite: its Environment, for those that have not ended
	indexTrigger     = "trigger"        // Suite: its Trigger, for those that have not ended
	indexNamespace   = "team-namespace" // Team: the namespace it owns
)

// SetupIndexes adds the field indexes that the reconcilers read by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, extract := range map[string]func(*v1alpha1.Suite) string{
		indexStream:      suite.StreamKey,
		indexUnfinished:  unfinished(func(*v1alpha1.Suite) string { return "true" }),
		indexEnvironment: unfinished(func(s *v1alpha1.Suite) string { return s.Spec.Environment }),
		indexTrigger:     unfinished(func(s *v1alpha1.Suite) string { return s.Spec.Trigger.Name }),
	} {
		if err := index(ctx, indexer, &v1alpha1.Suite{}, field, extract); err != nil {
			return err
		}
	}
	return index(ctx, indexer, &v1alpha1.Team{}, indexNamespace, (*v1alpha1.Team).NamespaceName)
}

func unfinished(value func(*v1alpha1.Suite) string) func(*v1alpha1.Suite) string {
	return func(s *v1alpha1.Suite) string {
		if s.Finished() {
			return ""
		}
		return value(s)
	}
}

func index[T client.Object](ctx context.Context, indexer client.FieldIndexer, kind T, field string, extract func(T) string) error {
	err := indexer.IndexField(ctx, kind, field, func(o client.Object) []string {
		if value := extract(o.(T)); value != "" {
			return []string{value}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index %T by %s: %w", kind, field, err)
	}
	return nil
}
