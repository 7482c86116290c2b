package gate

import (
	"cmp"
	"context"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	// reportTimeout bounds how long a command that waited looks for test results: the pipeline has its answer.
	reportTimeout = 30 * time.Second

	// replicaPause is how long to wait for a replica that has not seen the end of the run yet.
	replicaPause = time.Second
)

// report prints the tests that failed, and writes the JUnit report. No trouble with it changes how a command ends that
// has its answer.
func (o *WaitOptions) report(ctx context.Context, console *cli.Console, runs []RunStatus) {
	if ctx.Err() != nil {
		return
	}
	ended := make([]*client.Run, len(runs))
	for i := range runs {
		ended[i] = o.endedRun(ctx, &runs[i])
		runs[i].Results, runs[i].Artifacts, runs[i].DecidedBy = ended[i].Results, ended[i].Artifacts, ended[i].DecidedBy
		console.PrintEnd(ended[i])
	}
	if o.Summary != "" {
		if err := appendSummary(o.Summary, ended); err != nil {
			console.Note("Warning: the summary could not be written. %v", err)
		}
	}
	if err := o.WriteJUnit(ctx, console, o.Runs, ended); err != nil {
		console.Note("Warning: %s could not be written. %v", o.File, err)
	}
}

// endedRun is the run that the verdict is about. Of a run without an outcome, and of a server that does not answer,
// only what is known of the wait.
func (o *WaitOptions) endedRun(ctx context.Context, s *RunStatus) *client.Run {
	id := s.Run
	if s.Followed || s.Retried {
		id = s.Relevant
	}
	known := &client.Run{ID: id, Trigger: cmp.Or(s.Trigger, id), State: string(s.Verdict), Message: s.Reason, URL: s.URL}
	switch s.Verdict {
	case noOutcome, different:
		return known
	case passed:
		known.State = state.Green().Reason
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for {
		r, err := o.Runs.Run(ctx, id)
		if err != nil {
			return known
		}
		if runs.Ended(r) {
			r.URL = cmp.Or(r.URL, s.URL)
			return r
		}
		if err := transfer.Sleep(ctx, replicaPause); err != nil {
			return known
		}
	}
}
