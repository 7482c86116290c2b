// Package overview serves the pages about what a team has: lists of runs, Triggers, Environments and tests, and all teams.
package overview

import (
	"context"
	"iter"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// Runs is a runs.Reader.
type Runs interface {
	Newest(namespace string) []*v1alpha1.Suite
	Look(namespace string) int
	HasArchive() bool
	List(ctx context.Context, team *v1alpha1.Team, q runs.Query) runs.Page
}

// Tests is a history.Reader. Test returns fs.ErrNotExist for a test that was in no run of the period.
type Tests interface {
	Insights(ctx context.Context, team *v1alpha1.Team, q history.Query) (httpapi.Insights, error)
	List(ctx context.Context, team *v1alpha1.Team, q history.Query) (httpapi.TestList, error)
	Test(ctx context.Context, team *v1alpha1.Team, name string, q history.Query) (httpapi.TestHistory, error)
}

// Verdicts is a verdicts.Reader.
type Verdicts interface {
	Verdict(ctx context.Context, q verdicts.Query) (verdict.Verdict, error)
}

// Clusters is a clusters.Overviews.
type Clusters interface {
	Of(ctx context.Context, team *v1alpha1.Team, environments []*v1alpha1.Environment) (answers []hub.Answer, omitted int)
}

// Config is what the pages read. Only Starter can write.
type Config struct {
	// Explain returns for each Trigger of the team why it matches a notification or not.
	Explain func(context.Context, *v1alpha1.Team, *notification.Notification) (iter.Seq[match.Explanation], error)
	// Lease returns the Lease of the leader; nil without an election. StoreProblem returns why the store cannot be used, or ""; nil without
	// one.
	Lease        func(context.Context) (*coordinationv1.Lease, error)
	StoreProblem func() string
	// Deployments returns what the archive has of a span, newest first; nil without one.
	Deployments func(ctx context.Context, team *v1alpha1.Team, environment string, span record.Span) ([]httpapi.Deployment, error)
	Tests       Tests // nil without a store

	Clusters Clusters // nil: this is no hub
	Verdicts Verdicts
	Starter  verdicts.Dispatcher // of what is missing for a verdict
	Sites    codehost.Sites      // of the code hosts that the operator configured
}

// Pages are the pages of teams.
type Pages struct {
	*site.Site
	Config
	Runs      Runs
	Reference *view.Reference // of the HTTP API
	Steady    clock.PassiveClock
}
