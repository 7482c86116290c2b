package verdicts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Dispatcher starts runs. It is a dispatch.Dispatcher.
type Dispatcher interface {
	Rerun(ctx context.Context, c dispatch.Command, run string) (next *v1alpha1.Suite, created bool, err error)
	Start(ctx context.Context, c dispatch.Command, trigger, tested string) (first *v1alpha1.Suite, created bool, err error)
}

// Started is what came of a requirement that was missing or stale.
type Started struct {
	verdict.Start                 // with the problem, if nothing was started
	Run           *v1alpha1.Suite // nil: there is none
}

// Start starts what is missing for a verdict, or stale. Names of attempts make it start each run once, however often it is asked, and by
// which replica. An error means that it is not known what was started.
func Start(ctx context.Context, d Dispatcher, c dispatch.Command, v verdict.Verdict) (all []Started, err error) {
	for _, s := range v.Starts() {
		started := Started{Start: s}
		if s.Problem == "" {
			started.Run, err = run(ctx, d, c, s)
		}
		if failed, ok := errors.AsType[*dispatch.Error](err); ok && isFinal(failed.Kind) {
			started.Problem, err = failed.Message, nil
		}
		if err != nil {
			return all, err
		}
		if r := started.Run; r != nil && r.Finished() {
			started.Problem = fmt.Sprintf("Its run %s was there before, and ended as %s.", r.Name, r.State())
			started.Run = nil
		}
		all = append(all, started)
	}
	return all, nil
}

// isFinal reports whether the same request would fail again.
func isFinal(kind dispatch.ErrorKind) bool {
	return kind != dispatch.Overloaded && kind != dispatch.Unavailable && kind != dispatch.Forbidden
}

// run follows attempts that the cache does not show yet.
func run(ctx context.Context, d Dispatcher, c dispatch.Command, s verdict.Start) (next *v1alpha1.Suite, err error) {
	if s.Rerun == "" {
		next, _, err = d.Start(ctx, c, s.Trigger, s.Tests)
	} else {
		next, _, err = d.Rerun(ctx, c, s.Rerun)
	}
	return next, err
}

// After is the verdict with what was started, which the cache may not show yet.
func After(v verdict.Verdict, all []Started) verdict.Verdict {
	q := v.Question
	q.Suites = slices.Clone(q.Suites)
	for _, s := range all {
		known := func(other *v1alpha1.Suite) bool { return s.Run != nil && other.Name == s.Run.Name }
		if s.Run != nil && !slices.ContainsFunc(q.Suites, known) {
			q.Suites = append(q.Suites, s.Run)
		}
	}
	return verdict.Of(q)
}

// Obstacle returns why nothing can be started for a verdict, as sentences, or "".
func Obstacle(v verdict.Verdict) string {
	if v.Newest == nil {
		return strings.TrimSpace(v.Sentence() + " " + v.Advice())
	}
	l := ledger.Of(v.Environment, v.Suites)
	if clause := rerun.Obstacle(v.Newest, l); clause != "" {
		return fmt.Sprintf("Nothing is started, because %s. %s", clause, rerun.Advice(v.Newest, l.Replaced(v.Newest)))
	}
	return ""
}
