package gate

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/ci"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// verdicts are what the command asks.
type verdicts interface {
	Verdict(ctx context.Context, q client.VerdictQuery, wait time.Duration) (*client.Verdict, error)
	RunVerdict(ctx context.Context, q client.VerdictQuery) (*client.StartedVerdict, error)
}

type gateOptions struct {
	access.Server
	verdicts

	query        client.VerdictQuery
	noDetect     bool
	wait, run    bool
	timeout      time.Duration // for runs
	startTimeout time.Duration // while there is no run
	summary      string
}

const gateLong = `Says whether a commit may leave an Environment: whether the runs that are required of it have passed there, the newest
attempt of each, and are recent enough. spec.gate of the Environment says which runs these are; by default, those of all
Triggers that matched a deployment of the commit.

With --wait, the command waits until the runs have ended. With --run, it starts what is missing or stale, each run once,
however often it is sent; what failed is not repeated.

Commit and repository come from the variables of the CI system, unless you give them. $POSTFLIGHT_SHA and
$POSTFLIGHT_SERVICE take precedence over these, and flags over all of them.

Exit codes: 0 passed, 1 failed or withdrawn, 2 running or stale, 3 none, or trouble: no Environment, no server, no key.`

const gateExample = `  # Before production: was this commit tested in staging, within the last day?
  postflight gate --environment staging --max-age 24h

  # Start what is missing, and wait for it
  postflight gate --environment staging --sha 5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d --run --wait

  # The state, for a script
  postflight gate --environment staging -o json | jq -r .state`

// NewGate returns the command that asks for a verdict.
func NewGate() *cobra.Command {
	o := &gateOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:     "gate",
		Short:   "Say whether a commit passed in an Environment, and exit with the answer",
		Long:    gateLong,
		Example: gateExample,
		Args:    cobra.NoArgs,
		RunE: o.Command(func(ctx context.Context, _ []string) error {
			o.verdicts = o.Client
			return o.Run(ctx, os.Getenv)
		}),
	})
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.query.SHA, "sha", "", "whole commit; default: $POSTFLIGHT_SHA")
	f.StringVar(&o.query.Environment, "environment", "", "Environment to which it was deployed")
	_ = cmd.RegisterFlagCompletionFunc("environment", o.Complete(access.Environments))
	f.StringVar(&o.query.Repository, "repository", "", "owner/name; runs that name another one do not count")
	f.StringVar(&o.query.Service, "service", "", "only the runs of this service of the repository; default: $POSTFLIGHT_SERVICE")
	cli.DurationVar(f, &o.query.MaxAge, "max-age", 0, "how old a result may be, e.g. 24h; default: what the Environment allows")
	f.BoolVarP(&o.wait, "wait", "w", false, "wait for the runs to end")
	cli.DurationVar(f, &o.timeout, "timeout", time.Hour, "with --wait, how long to wait for runs")
	cli.DurationVar(f, &o.startTimeout, "start-timeout", time.Minute, "with --wait, how long to wait while there is no result and no run")
	f.BoolVar(&o.run, "run", false, "start the runs that are missing or stale")
	f.StringVar(&o.summary, "summary", "", "append a summary in Markdown to this `file`, such as $GITHUB_STEP_SUMMARY")
	f.BoolVar(&o.noDetect, "no-detect", false, "ignore the variables of the CI system")
	o.AddFlags(cmd)
	return cmd
}

// complete fills in what no flag says.
func (o *gateOptions) complete(getenv func(string) string) error {
	d := Deployment{SHA: o.query.SHA, service: o.query.Service}
	d.readEnvironment(getenv)
	if o.noDetect {
		d.Detected = ci.Context{}
	}
	o.query.SHA, o.query.Service = cmp.Or(d.SHA, d.Detected.SHA), d.service
	o.query.Repository = cmp.Or(o.query.Repository, d.Detected.Repository)
	switch {
	case o.query.SHA == "":
		return errors.New("no commit is named: pass --sha, or set $POSTFLIGHT_SHA")
	case o.query.Environment == "":
		return errors.New("no Environment is named: pass --environment")
	default:
		return nil
	}
}

// Run asks, starts, waits and prints.
func (o *gateOptions) Run(ctx context.Context, getenv func(string) string) error {
	if err := o.complete(getenv); err != nil {
		return err
	}
	answer, err := o.answer(ctx)
	if err != nil {
		return cli.Interrupted(ctx, err, "")
	}
	if o.summary != "" {
		if err := appendTo(o.summary, verdictSummary(&answer.Verdict)); err != nil {
			o.Console.Note("Warning: the summary could not be written. %v", err)
		}
	}
	var shown any = answer
	if !o.run {
		shown = answer.Verdict
	}
	if err := o.Console.Result(shown, func() error { return printVerdict(o.Console.Out, &answer.Verdict) }); err != nil {
		return err
	}
	return gateError(answer.State)
}

// answer is the verdict after what was asked for.
func (o *gateOptions) answer(ctx context.Context) (*client.StartedVerdict, error) {
	v, err := o.Verdict(ctx, o.query, 0)
	if err != nil {
		return nil, err
	}
	answer := &client.StartedVerdict{Verdict: *v, Started: []httpapi.StartedRun{}}
	if o.run && (v.State == httpapi.VerdictNone || v.State == httpapi.VerdictStale) {
		if answer, err = o.start(ctx, answer); err != nil {
			return nil, err
		}
	}
	if o.wait {
		err = o.await(ctx, &answer.Verdict)
	}
	return answer, err
}

// start continues without runs if there may be some later: a notification may come after the question.
func (o *gateOptions) start(ctx context.Context, before *client.StartedVerdict) (*client.StartedVerdict, error) {
	answer, err := o.RunVerdict(ctx, o.query)
	if o.wait && before.State == httpapi.VerdictNone && cli.FailureCode(err) == "refused" {
		o.Console.Note("%v", err)
		return before, nil
	}
	if err != nil {
		return nil, err
	}
	for _, s := range answer.Started {
		o.Console.Note("  %s  started %s", nameOf(s.Trigger, s.Service), s.Run)
	}
	for _, p := range answer.Problems {
		o.Console.Note("  %s  could not start: %s", nameOf(p.Trigger, p.Service), p.Reason)
	}
	return answer, nil
}

// await follows a verdict until no run changes it soon. It leaves the last one.
func (o *gateOptions) await(ctx context.Context, v *client.Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	p := startProgress(o.Console, []RunStatus{{Verdict: waiting}})
	defer p.Stop()
	none := time.Now() // since then, if it is
	for {
		p.Update(0, func(r *RunStatus) { *r = statusOf(v) })
		patience := client.MaxWait
		switch v.State {
		case httpapi.VerdictRunning:
		case httpapi.VerdictNone:
			patience = min(patience, o.startTimeout-time.Since(none))
		default:
			return nil
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < patience {
			patience = time.Until(deadline)
		}
		if patience < time.Second && v.State == httpapi.VerdictNone || ctx.Err() != nil {
			return ignoreTimeout(ctx)
		}
		began := time.Now()
		now, err := o.Verdict(ctx, o.query, patience)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if v.State != httpapi.VerdictNone {
			none = time.Now()
		}
		*v = *now
		if time.Since(began) < time.Second { // a server that does not wait
			_ = transfer.Sleep(ctx, time.Second)
		}
	}
}

// ignoreTimeout leaves the last verdict if the time is over. An interrupt stays an error.
func ignoreTimeout(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return ctx.Err()
}
