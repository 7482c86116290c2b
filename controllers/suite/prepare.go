package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Tests are the tests of runs that have ended.
type Tests interface {
	// Tests reads all tests of a run. It returns fs.ErrNotExist if they are not known, and history.ErrUnreadable if they cannot be read.
	// Any other error is temporary, and a clause that says why the store fails.
	Tests(ctx context.Context, r record.Run, each func(httpapi.Test)) (history.RunHeader, error)
}

const (
	// timingsTimeout bounds what a run waits for the times of earlier runs, which it can do without.
	timingsTimeout = 5 * time.Second

	// readingAtOnce bounds the memory: each holds the names of the files of five runs.
	readingAtOnce = 4
)

// withPrepared puts files in place for the tests of a run. They are in its Job: pods that asked for them could get different ones, and
// would run a file twice, or not at all. The problem is a sentence: why they cannot get them.
func (r *Reconciler) withPrepared(ctx context.Context, j *batchv1.Job, o lifecycle.Observation) (prepared *batchv1.Job, problem string) {
	p := job.Prepared{Image: r.Image}
	if o.Trigger.Spec.Shards > 0 {
		p.Program = job.SplitProgram
		p.Files = append(p.Files, job.PreparedFile{
			Name: job.TimingsFile, Variable: job.TimingsVariable, Content: r.timings(ctx, o).Fit(job.Fits).Encode(),
		})
	}
	if names, problem := failedFile(o); problem != "" {
		return nil, problem
	} else if names != nil {
		p.Files = append(p.Files, *names)
	}
	if len(p.Files) == 0 {
		return j, ""
	}
	if problem = job.CheckPrepared(o.Trigger, r.Image); problem != "" {
		return nil, problem
	}
	return job.WithPrepared(j, p), ""
}

// timings are none if the store does not answer: the tests are then split by the number of their files.
func (r *Reconciler) timings(ctx context.Context, o lifecycle.Observation) split.Timings {
	if r.Tests == nil {
		return split.Timings{Problem: "Postflight has no object store, so the times of earlier runs are not known."}
	}
	ctx, cancel := context.WithTimeout(ctx, timingsTimeout)
	defer cancel()
	all, err := r.testedRuns(ctx, o)
	t := split.Aggregate(all)
	if err == nil || len(t.Runs) > 0 {
		return t
	}
	why := clause(err)
	if ctx.Err() != nil {
		why = "that took longer than " + plaintext.Duration(timingsTimeout)
	}
	return split.Timings{Problem: fmt.Sprintf("The times of earlier runs could not be read when the run started: %s.", why)}
}

// testedRuns are the last runs of which tests are known. With an error, there may be more.
func (r *Reconciler) testedRuns(ctx context.Context, o lifecycle.Observation) (all []*split.Run, err error) {
	release, err := r.reading.Acquire(ctx, o.Team.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	runs, err := r.suites(ctx, o.Suite.Namespace, client.MatchingFields{index.Trigger: o.Suite.Spec.Trigger.Name})
	if err != nil {
		return nil, err
	}
	for _, s := range split.Candidates(o.Suite, runs) {
		if split.Enough(all) {
			break
		}
		if !o.Team.Owns(s.CreationTimestamp.Time) {
			continue
		}
		run := split.NewRun(s.Name)
		_, err := r.Tests.Tests(ctx, record.Of(o.Team.Name, s), func(t httpapi.Test) { run.Add(t.Suite, t.File, t.Milliseconds) })
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, history.ErrUnreadable):
		case err != nil:
			return all, err
		default:
			all = append(all, run)
		}
	}
	return all, nil
}
