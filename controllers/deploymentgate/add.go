// Package deploymentgate answers code hosts that ask whether a deployment may begin.
package deploymentgate

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// CodeHost takes decisions about deployments. Its errors are *report.Error.
type CodeHost interface {
	// Review sends a decision, or without a state, how far the tests are.
	Review(ctx context.Context, r report.ApprovalRequest) error

	// Pending returns what the code host says about the deployment now.
	Pending(ctx context.Context, r report.ApprovalRequest) (report.Pending, error)
}

// Lister is a CodeHost that can list the deployments to an environment that wait: its older versions send no event for them.
type Lister interface {
	Blocked(ctx context.Context, r report.Request, environment string) ([]event.Review, error)
}

// CodeHostConfig is a code host, and the credentials of the manager itself.
type CodeHostConfig struct {
	CodeHost
	Name   string // as Teams name the host of repositories
	Limits report.Limits

	// Own reads the manager's own credentials; nil: it has none.
	Own func() (report.Credentials, error)
}

// Verdicts say whether a commit is green.
type Verdicts interface {
	// Verdict is false without such an Environment. With live, runs of the commit are also read from the API server, because the cache may be
	// behind.
	Verdict(ctx context.Context, namespace string, r v1alpha1.GateRequirement, c commit.Commit, live bool) (verdict.Verdict, bool, error)
}

// Opener creates the review of a deployment that was found by itself, as the server does for an event.
type Opener interface {
	Open(ctx context.Context, s *v1alpha1.EventSource, team *v1alpha1.Team, repository string, review event.Review) error
}

// Config is what the reconcilers know of the manager.
type Config struct {
	Hosts     map[v1alpha1.HostingService]CodeHostConfig
	Verdicts  Verdicts
	Opener    Opener // nil: nothing is looked for
	PublicURL string
}

// Add registers the reconcilers with a manager.
func Add(mgr ctrl.Manager, config Config, budgets *report.Budgets, clock clock.PassiveClock, metrics *Metrics) error {
	hosts := hosts{live: mgr.GetAPIReader(), byName: config.Hosts}
	if err := (&Gates{Client: mgr.GetClient(), hosts: hosts}).SetupWithManager(mgr); err != nil {
		return err
	}
	r := &Reviews{Client: mgr.GetClient(), Clock: clock, Config: config, Metrics: metrics, hosts: hosts, budgets: budgets}
	if err := r.SetupWithManager(mgr); err != nil || config.Opener == nil {
		return err
	}
	return mgr.Add(&Poller{Client: mgr.GetClient(), Clock: clock, Opener: config.Opener, hosts: hosts, budgets: budgets})
}
