// Package run serves the pages of a run: its results, log, files and attempts, and the buttons that cancel and rerun it.
package run

import (
	"context"
	"io"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Runs is a runs.Reader.
type Runs interface {
	Newest(namespace string) []*v1alpha1.Suite
	HasArchive() bool
	Find(ctx context.Context, team *v1alpha1.Team, id string) (*runs.Run, error)
	Logs(ctx context.Context, run *runs.Run, q runs.LogQuery) ([]runs.Log, error)
	OpenLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) (io.ReadCloser, error)
	FollowLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) io.ReadCloser
	Explain(ctx context.Context, run *runs.Run) (results.Explanation, error)
	WithVariables(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error)
	RecentArtifacts(ctx context.Context, run *runs.Run, after string, limit int) (files []record.Artifact, next string, err error)
	OpenArtifact(ctx context.Context, run *runs.Run, pod, path string) (record.File, error)
}

// Actions is a dispatch.Dispatcher, for people who may change runs.
type Actions interface {
	Cancel(ctx context.Context, c dispatch.Command, id string) (*v1alpha1.Suite, error)
	Rerun(ctx context.Context, c dispatch.Command, id string) (next *v1alpha1.Suite, created bool, err error)
}

// Failures is a failures.Reader.
type Failures interface {
	// Read leaves out what cannot be read in time.
	Read(ctx context.Context, team *v1alpha1.Team, run *runs.Run) httpapi.Failure
}

// Pages are the pages of runs.
type Pages struct {
	*site.Site
	Runs     Runs
	Failures Failures
	Actions  Actions
	Steady   clock.PassiveClock // dates actions, because it is never set
}
