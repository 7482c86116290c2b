package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type NotifyOptions struct {
	access.Server
	Deployment
	WaitOptions
	Wait, AllowNoMatch bool
	rerun              bool // runs that exist and have ended
	acceptDifferent    bool // a run of another deployment of the commit
	terminated         bool // the deployment is gone
}

const notifyLong = `Reports a deployment. Every Trigger that matches it starts a run, unless the Trigger has a run of the
same commit that continues or has a result; --rerun starts another attempt of those that have a result.
With --wait, the command waits for the runs and shows which tests failed, and its exit code gates the pipeline. A run
that tests another deployment of the commit, with another URL, other variables or other input files, is no result of this
one: the exit code is then 4, unless you --accept-different.

With --terminated, it reports that the ephemeral environment at --deployment-url is gone: its runs are
canceled, and it is deleted.

If $TRACEPARENT is set, as tools for OpenTelemetry do, the runs continue that trace.

` + detection + `

` + cli.ExitCodes + `
Without --wait, 0 means that every run was started.`

const notifyExample = `  # In CI: report what was deployed, and stop the pipeline unless the runs pass
  postflight notify --type staging --deployment-url https://staging.example.com --wait

  # The same, with a report of all tests for the CI system to show
  postflight notify --type staging --wait --junit report.xml

  # The same commit was deployed again, for example by a job that somebody repeats: test it again
  postflight notify --type staging --rerun --wait

  # A preview is gone
  postflight notify --terminated --deployment-url https://pr-7.example.com

  # From a shell, with a variable for the tests
  postflight notify --branch main --sha "$(git rev-parse HEAD)" -v REGION=eu

  # The ids of the runs, for a script
  postflight notify --type staging -o json | jq -r '.results[].created_suite_id'`

func NewNotify() *cobra.Command {
	o := &NotifyOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:     "notify",
		Short:   "Report a deployment, which starts the runs of all Triggers that match it",
		Long:    notifyLong,
		Example: notifyExample,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE: o.Command(func(ctx context.Context, _ []string) error {
			o.readEnvironment(os.Getenv)
			o.Runs = o.Client
			if o.terminated {
				return o.runTerminated(ctx)
			}
			return o.Run(ctx)
		}),
	})
	o.Deployment.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.Wait, "wait", "w", false, "wait for the runs to end")
	cmd.Flags().BoolVar(&o.AllowNoMatch, "allow-no-match", false,
		"exit 0 if no Trigger matches, or if the environment that is gone is not known")
	cmd.Flags().BoolVar(&o.rerun, "rerun", false, "start another attempt of runs of the same commit that have a result")
	cmd.Flags().BoolVar(&o.acceptDifferent, "accept-different", false,
		"with --wait, take the result of a run that tests another deployment of the commit: another URL, other variables or input files")
	cmd.Flags().BoolVar(&o.terminated, "terminated", false, "the ephemeral environment at --deployment-url is gone")
	o.WaitOptions.addFlags(cmd)
	o.AddFlags(cmd)
	return cmd
}

func (o *NotifyOptions) check() error {
	switch {
	case o.terminated && (o.Wait || o.rerun):
		return errors.New("--terminated starts no runs: leave out --wait and --rerun")
	case o.File != "" && !o.Wait:
		return errors.New("--junit is about runs that have ended: add --wait")
	default:
		return o.CheckJUnit()
	}
}

// notified is what -o json prints.
type notified struct {
	*client.NotificationResult
	Runs []RunStatus `json:"runs,omitempty"`
}

// mayExist is for a notification that was interrupted before the answer came.
const mayExist = ". Runs may have been started: see \"postflight runs list\". If you report the same commit again, none starts twice"

func (o *NotifyOptions) Run(ctx context.Context) error {
	n, err := o.notification()
	if err != nil {
		return err
	}
	o.Console.Note("Reporting %s", o.describe(n))
	result, err := o.send(ctx, n)
	if failed := (*client.Error)(nil); errors.As(err, &failed) && failed.Problem != nil {
		o.print(failed.Problem.Results) // these runs exist, although the request failed as a whole
	}
	if err != nil {
		return cli.Interrupted(ctx, cli.ExitTroubleError(err), mayExist)
	}
	o.hint(result)
	runs, failures := o.print(result.Results)
	if len(result.Results) == 0 && !o.AllowNoMatch {
		if err := o.explainNoMatch(ctx, n, result); err != nil {
			return err
		}
	}
	answer := notified{NotificationResult: result}
	if o.Wait && len(runs) > 0 {
		answer.Runs = o.await(ctx, o.Console, runs)
	}
	if o.Console.JSON {
		if err := o.Console.WriteJSON(answer); err != nil {
			return err
		}
	}
	return o.exitError(len(result.Results), failures, answer.Runs)
}

func (o *NotifyOptions) hint(result *client.NotificationResult) {
	if result.Hint != "" && len(result.Results) > 0 { // what nothing matched is explained anyway
		o.Console.Note("%s", result.Hint)
	}
}

// explainNoMatch shows at once what "postflight explain" would: CI has the key, and the developer who reads its log may not.
func (o *NotifyOptions) explainNoMatch(ctx context.Context, n client.Notification, result *client.NotificationResult) error {
	explained, err := o.Client.Explain(ctx, n)
	if err != nil {
		o.Console.Note("Why no Trigger matches cannot be shown: %s", err)
		return nil
	}
	result.Explanations = nearestFirst(explained.Explanations)
	if o.Console.JSON {
		return nil
	}
	shown := *result
	shown.Explanations = shown.Explanations[:min(len(shown.Explanations), maxExplained)]
	if err := printExplained(o.Console, &shown); err != nil {
		return err
	}
	if more := len(result.Explanations) - len(shown.Explanations); more > 0 {
		o.Console.Note("%d other Triggers match even less; \"postflight explain\" shows them.", more)
	}
	return nil
}

// maxExplained bounds the Triggers in the log of a pipeline. The Trigger that should have matched is among the first.
const maxExplained = 10

// nearestFirst sorts by how many conditions do not hold.
func nearestFirst(explanations []httpapi.Explanation) []httpapi.Explanation {
	failing := func(e httpapi.Explanation) (n int) {
		for _, c := range e.Conditions {
			if !c.Held {
				n++
			}
		}
		return n
	}
	return slices.SortedStableFunc(slices.Values(explanations), func(a, b httpapi.Explanation) int { return failing(a) - failing(b) })
}

func (o *NotifyOptions) send(ctx context.Context, n client.Notification) (*client.NotificationResult, error) {
	if o.rerun {
		return o.Client.NotifyRerun(ctx, n)
	}
	return o.Client.Notify(ctx, n)
}

// print prints a line per Trigger, and returns the runs to wait for.
func (o *NotifyOptions) print(results []client.Result) (runs []RunStatus, failures int) {
	for _, r := range results {
		what := ""
		switch {
		case r.CreatedSuiteID != "":
			what = "started " + r.CreatedSuiteID
		case r.DuplicateSuiteID != "":
			what = "already exists: " + r.DuplicateSuiteID + aboutDuplicate(r, time.Now())
		default:
			what = "could not start: " + r.FailureReason
			failures++
		}
		if id := r.RunID(); id != "" {
			runs = append(runs, o.statusOf(r))
		}
		if o.Console.JSON {
			o.Console.Note("  %s  %s", r.TriggerID, what)
		} else {
			fmt.Fprintf(o.Console.Out, "  %s  %s\n", cli.Clean(r.TriggerID), cli.Clean(what))
		}
	}
	return runs, failures
}

// exitError gates the pipeline: by default, a release must not continue if nothing tested it.
func (o *NotifyOptions) exitError(matched, failures int, runs []RunStatus) error {
	err := verdictError(runs)
	var exit *cli.ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == cli.ExitFailed:
		return err
	case failures > 0:
		return cli.Exitf(cli.ExitTrouble, "%d of %d runs could not start; the reasons are above", failures, matched)
	case matched == 0 && !o.AllowNoMatch:
		return cli.Exitf(cli.ExitTrouble, "no Trigger matches this deployment; --allow-no-match makes this exit 0")
	default:
		return err
	}
}

// runTerminated reports that an ephemeral environment is gone.
func (o *NotifyOptions) runTerminated(ctx context.Context) error {
	if o.URL == "" {
		return errors.New("--terminated needs --deployment-url, or $POSTFLIGHT_DEPLOYMENT_URL: the URL of the environment that is gone")
	}
	result, err := o.Client.EnvironmentTerminated(ctx, client.Termination{DeploymentURL: o.URL})
	if cli.FailureCode(err) == "environment_not_found" {
		if o.AllowNoMatch {
			o.Console.Note("There is no ephemeral Environment for %s, or no longer.", o.URL)
			return nil
		}
		return fmt.Errorf("%w. --allow-no-match makes this exit 0", err)
	}
	if err != nil {
		return err
	}
	return o.Console.Result(result, func() error {
		for _, t := range result.Results {
			fmt.Fprintf(o.Console.Out, "  %s  %s\n", cli.Clean(t.EnvironmentAlias), cli.Clean(canceledOf(t.Runs)))
		}
		return nil
	})
}

func canceledOf(runs []string) string {
	if len(runs) == 0 {
		return "terminated"
	}
	return "terminated, canceling: " + strings.Join(runs, ", ")
}
