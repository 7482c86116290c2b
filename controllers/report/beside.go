package report

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/suite"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// secondaryReport is shown beside a check, and runs of several Triggers share it.
type secondaryReport struct {
	purpose report.Purpose
	next    func(report.Observation, time.Time) report.Step
	send    func(*Reconciler, context.Context, report.Observation, sender) (sent, error)
}

// secondaryReports lists the most useful first.
var secondaryReports = []secondaryReport{
	{report.Comments, report.NextComment, (*Reconciler).sendComment},
	{report.Deployments, report.NextDeployment, (*Reconciler).sendDeployment},
}

type sender struct {
	CodeHost
	report.Request // without a check
}

type sent struct {
	failure *report.Error // nil: none
	more    bool          // another request is needed
	unspent bool          // nothing was written
}

func sentWith(err error) (sent, error) {
	if failure := (*report.Error)(nil); errors.As(err, &failure) {
		return sent{failure: failure}, nil
	}
	return sent{}, err
}

// beside posts the secondaryReports, and returns when to look again. One that fails does not hold up the others.
func (r *Reconciler) beside(ctx context.Context, o report.Observation) (after time.Duration, err error) {
	for _, e := range secondaryReports {
		wait, failure := r.run(ctx, o, e)
		after, err = suite.Sooner(after, wait), errors.Join(err, failure)
	}
	return after, err
}

func (r *Reconciler) run(ctx context.Context, o report.Observation, e secondaryReport) (after time.Duration, err error) {
	step := e.next(o, r.Clock.Now())
	if !step.Post {
		return step.After, nil
	}
	pauseAfter := func(k report.Kind) time.Duration {
		return wait.Jitter(report.RetryBeside(o.Suite, k, r.Clock.Now()), retry.Spread)
	}
	share := report.ShareBeside(e.purpose, o.Suite)
	if delay := r.waits(o, step.Target, share); delay > 0 {
		return wait.Jitter(delay, retry.Spread), nil
	}
	credentials, problem, err := r.credentials(ctx, o, step.Target)
	if err != nil || problem != nil {
		return pauseAfter(report.Rejected), err // the condition of the check says what is missing
	}
	budget := r.budgetOf(o, step.Target, credentials)
	if delay := budget.Take(share, r.Clock.Now()); delay > 0 {
		return wait.Jitter(delay, retry.Spread), nil
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	done, err := e.send(r, ctx, o, sender{
		CodeHost: r.Config.Hosts[step.Target.Service],
		Request:  report.Request{Target: step.Target, Credentials: credentials, Purpose: e.purpose},
	})
	r.finish(budget, done)
	switch {
	case err != nil:
		return 0, err
	case done.failure != nil:
		r.failed(ctx, e.purpose, step.Target, done.failure)
		return pauseAfter(done.failure.Kind), nil
	case done.unspent:
		return 0, nil
	}
	r.Metrics.posted()
	if done.more {
		return time.Millisecond, nil
	}
	return 0, nil
}
