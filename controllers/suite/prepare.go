package suite

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/job"
	"github.com/postflight-dev/postflight/internal/core/split"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// Timings knows how long test files took in earlier runs.
type Timings interface {
	// Timings are those of the last runs of the Trigger of a Suite. The error is a clause that says why the store fails.
	Timings(ctx context.Context, team string, s *v1alpha1.Suite) (split.Timings, error)
}

// timingsTimeout bounds what a run waits for the times of earlier runs, which it can do without.
const timingsTimeout = 5 * time.Second

// withPrepared puts files in place for the tests of a run. They are in its Job: pods that asked for them could get different ones, and
// would run a file twice, or not at all. The problem is a sentence: why they cannot get them.
func (r *Reconciler) withPrepared(ctx context.Context, j *batchv1.Job, o suite.Observation) (prepared *batchv1.Job, problem string) {
	p := job.Prepared{Image: r.Image}
	if o.Trigger.Spec.Shards > 0 {
		p.Program = job.SplitProgram
		p.Files = append(p.Files, job.PreparedFile{
			Name: job.TimingsFile, Variable: job.TimingsVariable, Content: r.timings(ctx, o).Fit(job.Fits).Encode(),
		})
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
func (r *Reconciler) timings(ctx context.Context, o suite.Observation) split.Timings {
	if r.Timings == nil {
		return split.Timings{Problem: "Postflight has no object store, so the times of earlier runs are not known."}
	}
	ctx, cancel := context.WithTimeout(ctx, timingsTimeout)
	defer cancel()
	t, err := r.Timings.Timings(ctx, o.Team.Name, o.Suite)
	if err != nil {
		return split.Timings{Problem: fmt.Sprintf("The times of earlier runs could not be read when the run started: %s.", clause(err))}
	}
	return t
}
