// Package failures gathers what the cluster, the files of its pods and the history of its tests say about a run that failed.
package failures

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/usecase/environments"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const (
	// timeout bounds what is gathered beside the Suite. Agents wait for the answer, and half of it is better than none.
	timeout = 8 * time.Second
	// maxTests bounds the tests whose history is read: each takes some 100 ms, and the first failures tell most.
	maxTests = 3
)

// Reader composes documents of failures.
type Reader struct {
	Runs         *runs.Reader
	Tests        *history.Reader // nil without a store
	Environments *environments.Reader
	PublicURL    string // of the run pages; may be empty
	OmitLog      bool   // for readers that have the log beside the document
}

// Read returns the document of a run. What cannot be read is named in it.
func (r *Reader) Read(ctx context.Context, team *v1alpha1.Team, run *runs.Run) httpapi.Failure {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s := run.Suite
	o := failure.Observation{Suite: s, Team: team.Name, Archived: run.Archived()}
	if r.PublicURL != "" {
		o.Page = suite.PageURL(r.PublicURL, s.Namespace, s.Name)
	}
	if !s.Finished() || verdict.RunPassed(s) {
		return failure.Of(o)
	}
	g := &gathering{Reader: r, team: team, run: run, Observation: &o}
	g.explain(ctx)
	g.changes(ctx)
	if !r.OmitLog {
		g.excerpt(ctx)
	}
	g.history(ctx)
	return failure.Of(o)
}

// gathering adds to an Observation.
type gathering struct {
	*Reader
	*failure.Observation
	team *v1alpha1.Team
	run  *runs.Run
}

func (g *gathering) missing(sentence string) { g.Problems = append(g.Problems, sentence) }

func (g *gathering) explain(ctx context.Context) {
	if g.Suite.Status.Results == nil {
		return
	}
	e, err := g.Runs.Explain(ctx, g.run)
	if err != nil {
		g.missing("What the reports say of the failures cannot be read from the store at the moment. Ask again in a few seconds.")
	}
	g.Explanation = &e
}

func (g *gathering) changes(ctx context.Context) {
	green := failure.LastGreen(g.Suite, g.Runs.Newest(g.Suite.Namespace))
	if green == nil {
		g.missing("No earlier green run is in the cluster, so what was deployed since is not listed here: postflight environments history " +
			g.Suite.Spec.Environment + " -n " + g.Suite.Namespace + ".")
		return
	}
	before, err := g.deployed(ctx, endOf(green))
	now, nowErr := g.deployed(ctx, endOf(g.Suite))
	if errors.Join(err, nowErr) != nil {
		g.missing("What was deployed besides cannot be read from the store at the moment. Ask again in a few seconds.")
		before, now = nil, nil
	}
	g.Changed = failure.ChangedSince(green, g.Suite, before, now)
}

func (g *gathering) deployed(ctx context.Context, at time.Time) ([]httpapi.Deployed, error) {
	if g.Environments == nil {
		return nil, nil
	}
	e, err := g.Environments.At(ctx, g.team, g.Suite.Spec.Environment, at)
	if errors.Is(err, environments.ErrNotFound) {
		return nil, nil
	}
	return e.Deployed, err
}

func endOf(s *v1alpha1.Suite) time.Time {
	if s.Status.CompletionTime == nil {
		return s.Received().Time
	}
	return s.Status.CompletionTime.Time
}

func (g *gathering) history(ctx context.Context) {
	if g.Tests == nil || g.Explanation == nil {
		return
	}
	g.History = map[string]failure.TestHistory{}
	for _, f := range g.Explanation.Failures[:min(len(g.Explanation.Failures), maxTests)] {
		h, err := g.Tests.Test(ctx, g.team, f.Name, history.Query{})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // its run was not summarized yet
		case err != nil:
			g.missing("Since when the tests fail cannot be read from the store at the moment. Ask again in a few seconds.")
			return
		}
		if h.Problem != "" && !slices.Contains(g.Problems, h.Problem) {
			g.missing(h.Problem)
		}
		for _, p := range h.Places {
			if p.Trigger == g.Suite.Spec.Trigger.Name && p.Environment == g.Suite.Spec.Environment {
				g.History[f.Name] = failure.HistoryOf(p, g.Suite)
			}
		}
	}
}

// sought are the texts that a log has near a failure, the most telling first.
func sought(e *results.Explanation) (texts []string) {
	if e == nil {
		return nil
	}
	first := e.Failures[:min(len(e.Failures), maxTests)]
	for _, f := range first {
		texts = append(texts, f.Message)
	}
	for _, f := range first {
		texts = append(texts, f.Name)
	}
	return texts
}

// failedPod is the pod of the first failure, or "".
func failedPod(e *results.Explanation) string {
	if e == nil || len(e.Failures) == 0 {
		return ""
	}
	return e.Failures[0].Pod
}
