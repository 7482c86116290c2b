package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// ClusterRuns are the Suites of a namespace.
type ClusterRuns struct {
	*access.Cluster

	All bool // those of all namespaces
}

func (c *ClusterRuns) scope() string { return c.Scope(c.All) }

func (c *ClusterRuns) place() string { return " -n " + c.Namespace }

func (c *ClusterRuns) elsewhere(string) string { return access.AskHub }

func (c *ClusterRuns) Environments(ctx context.Context) iter.Seq2[client.EnvironmentStatus, error] {
	return func(yield func(client.EnvironmentStatus, error) bool) {
		var list v1alpha1.EnvironmentList
		if err := c.List(ctx, "Environments", c.All, &list); err != nil {
			yield(client.EnvironmentStatus{}, err)
			return
		}
		for _, e := range list.Items {
			if !yield(client.EnvironmentStatus{Name: e.Name, Namespace: e.Namespace, Cluster: e.Spec.Cluster}, nil) {
				return
			}
		}
	}
}

func (c *ClusterRuns) getSuite(ctx context.Context, name string) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	return s, c.Get(ctx, "run", name, s)
}

func (c *ClusterRuns) Run(ctx context.Context, id string) (*client.Run, error) {
	s, err := c.getSuite(ctx, id)
	if err != nil {
		return nil, err
	}
	return new(record.RunOf(c.Teams(ctx)[s.Namespace], s)), nil
}

// Results lack what is in the object store.
func (c *ClusterRuns) Results(ctx context.Context, id string) (*client.RunResults, error) {
	r, err := c.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	return client.ResultsOf(r), nil
}

// Failure is made from the Suite alone.
func (c *ClusterRuns) Failure(ctx context.Context, id string) (*client.Failure, error) {
	s, err := c.getSuite(ctx, id)
	if err != nil {
		return nil, err
	}
	o := failure.Observation{Suite: s, Team: c.Teams(ctx)[s.Namespace]}
	if s.Finished() && !verdict.RunPassed(s) {
		o.Problems = []string{"The texts of failures, their history, what changed and the log: to have them, set POSTFLIGHT_URL and " +
			"POSTFLIGHT_API_KEY of the team, and leave out -n, --context and --kubeconfig."}
	}
	return new(failure.Of(o)), nil
}

func (c *ClusterRuns) Runs(ctx context.Context, f client.RunFilter) iter.Seq2[client.Run, error] {
	return func(yield func(client.Run, error) bool) {
		runs, err := c.list(ctx)
		if err != nil {
			yield(client.Run{}, err)
			return
		}
		for _, r := range runs {
			if matches(&r, f) && !yield(r, nil) {
				return
			}
		}
	}
}

// list returns the runs in the order of the server.
func (c *ClusterRuns) list(ctx context.Context) ([]client.Run, error) {
	var list v1alpha1.SuiteList
	if err := c.List(ctx, "runs", c.All, &list); err != nil {
		return nil, err
	}
	teams := c.Teams(ctx)
	runs := make([]client.Run, len(list.Items))
	for i := range list.Items {
		runs[i] = record.RunOf(teams[list.Items[i].Namespace], &list.Items[i])
	}
	slices.SortFunc(runs, func(a, b client.Run) int {
		return record.Run{Created: b.CreatedAt, ID: b.ID}.Compare(record.Run{Created: a.CreatedAt, ID: a.ID})
	})
	return runs, nil
}

// matches reports whether a run has what the filter names, as the server does.
func matches(r *client.Run, f client.RunFilter) bool {
	return (f.Trigger == "" || r.Trigger == f.Trigger) && (f.Environment == "" || r.Environment == f.Environment) &&
		(f.Branch == "" || notification.BranchName(r.Branch) == notification.BranchName(f.Branch)) &&
		commit.HasSHAPrefix(r.SHA, f.SHA) && (f.State == "" || r.State == f.State)
}

func (c *ClusterRuns) Cancel(ctx context.Context, id string) (*client.Run, error) {
	s, err := c.getSuite(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.Finished() && s.State() != v1alpha1.ReasonCanceled {
		return nil, fmt.Errorf("the run %s has already ended: %s", id, s.State())
	}
	if !s.Finished() && !s.Spec.Cancel {
		patch := crclient.MergeFrom(s.DeepCopy())
		s.Spec.Cancel = true
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationCanceledBy, c.UserName(ctx))
		if err := c.Client.Patch(ctx, s, patch); err != nil {
			return nil, c.ExplainError(err, fmt.Sprintf("run %q", id))
		}
	}
	return new(record.RunOf(c.Teams(ctx)[s.Namespace], s)), nil
}

var errFilesNeedServer = errors.New("a kubeconfig does not lead to the object store. To get the files of a run, set POSTFLIGHT_URL " +
	"and POSTFLIGHT_API_KEY of its team, and leave out -n, --context and --kubeconfig")

// Artifacts returns an error: the manager signs the URLs of files, for those who have a key of the team.
func (c *ClusterRuns) Artifacts(context.Context, string, string) iter.Seq2[client.Artifact, error] {
	return func(yield func(client.Artifact, error) bool) { yield(client.Artifact{}, errFilesNeedServer) }
}

// Download returns an error, like Artifacts.
func (c *ClusterRuns) Download(context.Context, string, client.Artifact, client.Destination) error {
	return errFilesNeedServer
}
