package controllers

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/internal/suite"
)

// The fields by which the cache finds objects without a scan.
const (
	indexStream           = "stream"           // Suite: suite.StreamKey
	indexUnfinishedStream = "unfinishedStream" // Suite: suite.StreamKey, for those that have not ended
	indexUnfinished       = "unfinished"       // Suite, Job: "true" for those that have not ended
	indexEnvironment      = "environment"      // Suite: its Environment, for those that have not ended. Trigger: its Environment
	indexTrigger          = "trigger"          // Suite: its Trigger
	indexNamespace        = "namespace"        // Team: the namespace it owns
	indexDigest           = "digest"           // APIKey: the hash of the key
)

// SetupIndexes adds the field indexes that the reconcilers read by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		index(ctx, indexer, indexStream, suite.StreamKey),
		index(ctx, indexer, indexUnfinishedStream, unfinished(suite.StreamKey)),
		index(ctx, indexer, indexUnfinished, unfinished(func(*v1alpha1.Suite) string { return "true" })),
		index(ctx, indexer, indexUnfinished, unfinishedJob),
		index(ctx, indexer, indexEnvironment, unfinished(func(s *v1alpha1.Suite) string { return s.Spec.Environment })),
		index(ctx, indexer, indexTrigger, func(s *v1alpha1.Suite) string { return s.Spec.Trigger.Name }),
		index(ctx, indexer, indexEnvironment, func(t *v1alpha1.Trigger) string { return t.Spec.Environment }),
		index(ctx, indexer, indexNamespace, (*v1alpha1.Team).NamespaceName),
		index(ctx, indexer, indexDigest, func(k *v1alpha1.APIKey) string { return k.Spec.SHA256 }),
	)
}

func unfinished(value func(*v1alpha1.Suite) string) func(*v1alpha1.Suite) string {
	return func(s *v1alpha1.Suite) string {
		if s.Finished() {
			return ""
		}
		return value(s)
	}
}

func unfinishedJob(j *batchv1.Job) string {
	if job.CompletionTime(j) != nil {
		return ""
	}
	return "true"
}

// index makes objects findable by what extract says of them, if it says anything.
func index[T any, P interface {
	*T
	client.Object
}](ctx context.Context, indexer client.FieldIndexer, field string, extract func(P) string) error {
	err := indexer.IndexField(ctx, P(new(T)), field, func(o client.Object) []string {
		if value := extract(o.(P)); value != "" {
			return []string{value}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index %T by %s: %w", new(T), field, err)
	}
	return nil
}
