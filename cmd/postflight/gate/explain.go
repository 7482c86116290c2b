package gate

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type explainOptions struct {
	access.Server
	Deployment
}

func NewExplain() *cobra.Command {
	o := &explainOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "explain",
		Short: "Show which Triggers match a deployment, and why the others do not",
		Long: `Shows what "postflight notify" with the same flags would do, and each condition of each Trigger. It starts
no run.

` + detection,
		Example: `  # Why did my Trigger not fire?
  postflight explain --branch feature/login --type preview`,
		Args: cobra.NoArgs,
		RunE: o.Command(func(ctx context.Context, _ []string) error {
			o.readEnvironment(os.Getenv)
			return o.run(ctx)
		}),
	})
	o.addFlags(cmd)
	o.AddFlags(cmd)
	return cmd
}

func (o *explainOptions) run(ctx context.Context) error {
	n, err := o.notification()
	if err != nil {
		return err
	}
	o.Console.Note("Dry run for %s:", o.describe(n))
	result, err := o.Client.Explain(ctx, n)
	if err != nil {
		return err
	}
	return o.Console.Result(result, func() error { return printExplained(o.Console, result) })
}

func printExplained(console *cli.Console, result *client.NotificationResult) error {
	if rows := explainRows(result); len(rows) > 1 {
		return console.Table(rows)
	}
	console.Note("No Trigger was explained. If your team has none, \"kubectl explain trigger.spec\" tells you how to write one. Of another " +
		"cluster, Triggers are missing here if none of your Environments there takes deployments of this type.")
	return nil
}

func explainRows(result *client.NotificationResult) [][]string {
	would := map[string]string{}
	for _, r := range result.Results {
		would[r.TriggerID] = outcomeOf(r)
	}
	rows := [][]string{{"TRIGGER", "MATCHES", "CONDITION", "HOLDS", "WHY"}}
	for _, e := range result.Explanations {
		name, matches := e.TriggerID, yesOrNo(e.Matched)
		add := func(condition, holds, why string) {
			rows = append(rows, []string{name, matches, condition, holds, why})
			name, matches = "", "" // once per Trigger
		}
		for _, c := range e.Conditions {
			add(c.Name, yesOrNo(c.Held), c.Message)
		}
		if len(e.Conditions) == 0 {
			add("-", "-", "The Trigger has no conditions: every deployment matches.")
		}
		if text := would[e.TriggerID]; text != "" {
			add("", "", text)
		}
	}
	for _, r := range result.Results { // a cluster that does not answer explains nothing
		if !slices.ContainsFunc(result.Explanations, func(e httpapi.Explanation) bool { return e.TriggerID == r.TriggerID }) {
			rows = append(rows, []string{r.TriggerID, "-", "-", "-", outcomeOf(r)})
		}
	}
	return rows
}

// outcomeOf is a sentence about what a dry run found out.
func outcomeOf(r client.Result) string {
	switch {
	case r.CreatedSuiteID != "":
		return "A run would start."
	case r.DuplicateSuiteID != "":
		return fmt.Sprintf("No new run: %s is the run of this commit.", r.DuplicateSuiteID)
	default:
		return r.FailureReason
	}
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
