// Package gate has the commands of pipelines: notify, wait, gate and explain.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// The state of a run and its position in the queue change without waking clients. So they are refreshed: often at
// first, when they change most, and then every refreshMax.
const (
	refreshMin = time.Second
	refreshMax = 10 * time.Second
)

// awaitedRuns are the runs that a command waits for.
type awaitedRuns interface {
	runs.ArtifactSource

	// Greenlight returns the state of a run as soon as there is news.
	Greenlight(ctx context.Context, id string, wait time.Duration) (*client.Greenlight, error)
	Run(ctx context.Context, id string) (*client.Run, error)
}

// WaitOptions are those of all commands that wait.
type WaitOptions struct {
	runs.JunitOptions

	Runs    awaitedRuns
	Follow  bool          // the run that supersedes counts
	Timeout time.Duration // for all runs
	Summary string        // file to which Markdown is appended; empty: none
}

func (o *WaitOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Follow, "follow", false,
		"if a run is superseded, take the result of the newer deployment: 0 then says nothing about this commit, so do not promote it")
	cli.DurationVar(cmd.Flags(), &o.Timeout, "timeout", 2*time.Hour, "how long to wait for all runs")
	cmd.Flags().StringVar(&o.Summary, "summary", "", "append a summary of the runs in Markdown to this `file`, such as $GITHUB_STEP_SUMMARY")
	o.AddJUnitFlag(cmd)
}

type WaitCommandOptions struct {
	access.Server
	WaitOptions
}

func NewWait() *cobra.Command {
	o := &WaitCommandOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "wait RUN...",
		Short: "Wait for runs to end, and exit with their result",
		Long: `Waits for runs, all at once, and prints their results. A terminal shows them while they run; a log gets a
line for each change. At the end, it shows which tests failed, first those that are new.

` + cli.ExitCodes,
		Example: `  postflight wait smoke-3f9c2k7q5x0a1b2c

  # With a report for the CI system to show
  postflight wait smoke-3f9c2k7q5x0a1b2c --junit report.xml

  # A newer deployment may supersede the run: wait for that one instead of exiting with 2
  postflight wait --follow smoke-3f9c2k7q5x0a1b2c`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.CheckJUnit() },
		RunE: o.Command(func(ctx context.Context, ids []string) error {
			o.Runs = o.Client
			return o.Run(ctx, ids)
		}),
	})
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.Complete(access.Runs)
	o.AddFlags(cmd)
	return cmd
}

func (o *WaitCommandOptions) Run(ctx context.Context, ids []string) error {
	runs := make([]RunStatus, len(ids))
	for i, id := range ids {
		runs[i] = RunStatus{Run: id, Verdict: waiting}
	}
	runs = o.await(ctx, o.Console, runs)
	if o.Console.JSON {
		if err := o.Console.WriteJSON(map[string]any{"runs": runs}); err != nil {
			return err
		}
	}
	return verdictError(runs)
}

// verdict is how a run ended, for a pipeline that waited for it.
type verdict string

const (
	waiting    verdict = "waiting"
	passed     verdict = "passed"
	failed     verdict = "failed"
	canceled   verdict = "canceled"
	changed    verdict = "inconclusive" // what it tested changed meanwhile
	superseded verdict = "superseded"
	different  verdict = "different" // the run is of another deployment of the commit
	noOutcome  verdict = "no outcome"
)

// codes are the exit codes. If runs differ, the first verdict of this list decides: a failure is known for
// good.
var codes = []struct {
	verdict verdict
	code    int
	text    string
}{
	{failed, cli.ExitFailed, "failed"},
	{noOutcome, cli.ExitTrouble, "had no result"},
	{different, cli.ExitDifferent, "tested another deployment"},
	{canceled, cli.ExitCanceled, "canceled"},
	{changed, cli.ExitCanceled, "inconclusive"},
	{superseded, cli.ExitCanceled, "superseded"},
}

// RunStatus is what is known of one run.
type RunStatus struct {
	Run      string  `json:"run"`
	Trigger  string  `json:"trigger,omitempty"`
	Verdict  verdict `json:"verdict"`
	Relevant string  `json:"relevantRun,omitempty"` // another run, if this one was superseded or is repeated
	Retried  bool    `json:"repeated,omitempty"`    // the verdict is that of relevantRun, which repeats this one: it had no result
	Followed bool    `json:"followed,omitempty"`    // the verdict is that of relevantRun, so of a newer deployment; this one was not tested
	URL      string  `json:"url,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Seconds  float64 `json:"seconds"` // waited

	DecidedBy string              `json:"decidedBy,omitempty"` // as in the HTTP API, of the run that the verdict is about
	Results   *client.TestResults `json:"results,omitempty"`   // of that run, too
	Artifacts *client.Artifacts   `json:"artifacts,omitempty"`

	state string // while it waits: Queued, Starting or Running, as kubectl shows it
}

// await waits for the runs, all at once, and prints the progress of each, and what they left behind.
func (o *WaitOptions) await(ctx context.Context, console *cli.Console, runs []RunStatus) []RunStatus {
	runs = o.awaitEnd(ctx, console, runs)
	followed := 0
	for _, r := range runs {
		if r.Followed {
			followed++
		}
	}
	if followed > 0 {
		console.Note("Superseded: %d of %d runs, which have no result of their own. "+
			"With --follow, the result is that of the newer deployment, so do not promote the older one.",
			followed, len(runs))
	}
	o.report(ctx, console, runs)
	return runs
}

func (o *WaitOptions) awaitEnd(ctx context.Context, console *cli.Console, runs []RunStatus) []RunStatus {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	p := startProgress(console, runs)
	var group sync.WaitGroup
	for i := range runs {
		if runs[i].Verdict != waiting {
			continue
		}
		group.Go(func() { o.awaitOne(ctx, runs[i].Run, func(change func(*RunStatus)) { p.Update(i, change) }) })
	}
	group.Wait()
	return p.Stop()
}

// awaitOne follows a run to its end.
func (o *WaitOptions) awaitOne(ctx context.Context, run string, update func(func(*RunStatus))) {
	start := time.Now()
	for wait := time.Duration(0); ; {
		began := time.Now()
		answer, err := o.Runs.Greenlight(ctx, run, wait)
		if err != nil {
			update(func(r *RunStatus) { r.Verdict, r.Reason = noOutcome, o.noResult(ctx, err, r.Reason) })
			return
		}
		v := verdictOf(answer, o.Follow)
		update(func(r *RunStatus) {
			r.Verdict, r.Relevant, r.URL, r.state = v, answer.Counting(), answer.RelevantRunURL, answer.RunState
			r.Reason = reasonOf(answer, v)
			r.Retried = answer.HasSuccessor()
			r.Followed = v != superseded && answer.RelevantRunID != answer.RootRunID
		})
		if v != waiting {
			return
		}
		if wait > 0 && time.Since(began) < time.Second { // no result yet, or a server that does not wait
			_ = transfer.Sleep(ctx, time.Second) // the next request reports that the context is done
		}
		wait = refreshInterval(answer.RunState, time.Since(start))
	}
}

// refreshInterval is how long to wait for the end of a run before it is shown again.
func refreshInterval(state string, waited time.Duration) time.Duration {
	if state == v1alpha1.ReasonRunning {
		return client.MaxWait
	}
	return min(max(waited/2, refreshMin), refreshMax)
}

func (o *WaitOptions) noResult(ctx context.Context, err error, last string) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && last != "":
		return fmt.Sprintf("The run had not ended after %s: %s", o.Timeout, last)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("The run had not ended after %s. Raise --timeout, or look at the run.", o.Timeout)
	case ctx.Err() != nil:
		return "Stopped waiting; the run continues."
	default:
		return err.Error()
	}
}

func verdictOf(a *client.Greenlight, follow bool) verdict {
	switch {
	case a.RelevantRunID != a.RootRunID && !follow:
		return superseded
	case a.RunStage == httpapi.Completed && a.Greenlight:
		return passed
	case a.RunStage == httpapi.Completed:
		return failed
	case a.RunStage == httpapi.Canceled:
		return verdict(cmp.Or(state.Of(a.RunState).Gate, string(canceled)))
	default:
		return waiting
	}
}

func reasonOf(a *client.Greenlight, v verdict) string {
	switch {
	case v == superseded:
		return "A newer deployment is being tested by " + a.RelevantRunID + ", and this one has no result. " +
			"--follow waits for the newer one instead."
	case v == failed && a.Bugs != nil && len(a.ReproducedBugs) > 0:
		return a.ReproducedBugs[0].Name
	default:
		return a.RunMessage
	}
}

// verdictError is the error with the exit code of the runs; nil if all passed.
func verdictError(runs []RunStatus) error {
	for _, c := range codes {
		var ids []string
		for _, r := range runs {
			if r.Verdict == c.verdict {
				ids = append(ids, r.Run)
			}
		}
		if len(ids) > 0 {
			return cli.Exitf(c.code, "%d of %d runs %s: %s", len(ids), len(runs), c.text, strings.Join(ids, ", "))
		}
	}
	return nil
}
