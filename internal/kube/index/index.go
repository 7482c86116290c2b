// Package index holds the field indexes of the cache, each once, what is found by them, the one rule for which Team owns a namespace,
// and what a Trigger inherits.
package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// The fields by which the cache finds objects without a scan.
const (
	Stream           = "stream"           // Suite: suite.StreamKey
	UnfinishedStream = "unfinishedStream" // Suite that has not ended: suite.StreamKey
	Unfinished       = "unfinished"       // Suite and Job that have not ended: "true"
	Environment      = "environment"      // Suite that has not ended, and Trigger: the name of its Environment
	Class            = "class"            // Trigger: the name of its TriggerClass
	Deployed         = "deployed"         // Suite: the name of its Environment
	Trigger          = "trigger"          // Suite: the name of its Trigger
	Run              = "run"              // Suite with a SHA: RunKey
	Commit           = "commit"           // Suite with a SHA: it
	Target           = "target"           // Suite that stands for a deployment: TargetKey
	PullRequest      = "pullRequest"      // Suite whose pull request is known: its number
	claimedNamespace = "namespace"        // Team: the namespace that it claims
	keyHash          = "hash"             // APIKey: the hash of the key
	trustKey         = "trust"            // TrustPolicy: trust.PolicyKeys
	elsewhere        = "elsewhere"        // Environment of another cluster: "true"
)

// Setup adds the indexes to the cache that the reconcilers and the HTTP API share.
func Setup(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		add(ctx, indexer, Stream, suite.StreamKey),
		add(ctx, indexer, UnfinishedStream, unfinished(suite.StreamKey)),
		add(ctx, indexer, Unfinished, unfinished(func(*v1alpha1.Suite) string { return "true" })),
		add(ctx, indexer, Unfinished, unfinishedJob),
		add(ctx, indexer, Environment, unfinished(func(s *v1alpha1.Suite) string { return s.Spec.Environment })),
		add(ctx, indexer, Deployed, func(s *v1alpha1.Suite) string { return s.Spec.Environment }),
		add(ctx, indexer, Trigger, func(s *v1alpha1.Suite) string { return s.Spec.Trigger.Name }),
		add(ctx, indexer, Run, runOf),
		add(ctx, indexer, Commit, func(s *v1alpha1.Suite) string { return s.Spec.Deployment.SHA }),
		add(ctx, indexer, Target, targetOf),
		add(ctx, indexer, PullRequest, pullRequestOf),
		add(ctx, indexer, Environment, func(t *v1alpha1.Trigger) string { return t.Spec.Environment }),
		add(ctx, indexer, Class, func(t *v1alpha1.Trigger) string { return t.Spec.TriggerClassName }),
		add(ctx, indexer, claimedNamespace, (*v1alpha1.Team).NamespaceName),
		add(ctx, indexer, keyHash, func(k *v1alpha1.APIKey) string { return k.Spec.SHA256 }),
		addAll(ctx, indexer, trustKey, trust.PolicyKeys),
		add(ctx, indexer, elsewhere, isElsewhere),
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
	if outcome.CompletionTime(j) != nil {
		return ""
	}
	return "true"
}

// RunKey is shared by the attempts of one run: the Suites of a Trigger, an Environment and a SHA.
func RunKey(trigger types.UID, environment, sha string) string {
	return strings.Join([]string{string(trigger), environment, sha}, "\x00")
}

// runOf returns "" without a SHA: other attempts of such a Suite cannot be found.
func runOf(s *v1alpha1.Suite) string {
	if s.Spec.Deployment.SHA == "" {
		return ""
	}
	return RunKey(s.Spec.Trigger.UID, s.Spec.Environment, s.Spec.Deployment.SHA)
}

// TargetKey is shared by the deployments of one repository, in any spelling, to one type.
func TargetKey(host v1alpha1.HostingService, repository, deploymentType string) string {
	return strings.Join([]string{string(host), commit.RepositoryKey(repository), deploymentType}, "\x00")
}

func targetOf(s *v1alpha1.Suite) string {
	if !ledger.IsDeployment(s) {
		return ""
	}
	d := s.Spec.Deployment
	return TargetKey(d.HostingService, d.Repository, d.Type)
}

// PullRequestKey is shared by the Suites of one pull request, perhaps of several repositories.
func PullRequestKey(number int64) string { return strconv.FormatInt(number, 10) }

func pullRequestOf(s *v1alpha1.Suite) string {
	if number := report.PullRequestNumber(s); number != 0 {
		return PullRequestKey(number)
	}
	return ""
}

func add[T any, P interface {
	*T
	client.Object
}](ctx context.Context, indexer client.FieldIndexer, field string, extract func(P) string) error {
	return addAll(ctx, indexer, field, func(o P) []string {
		if value := extract(o); value != "" {
			return []string{value}
		}
		return nil
	})
}

func addAll[T any, P interface {
	*T
	client.Object
}](ctx context.Context, indexer client.FieldIndexer, field string, extract func(P) []string) error {
	err := indexer.IndexField(ctx, P(new(T)), field, func(o client.Object) []string { return extract(o.(P)) })
	if err != nil {
		return fmt.Errorf("index %T by %s: %w", new(T), field, err)
	}
	return nil
}
