package runs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

type ShowOptions struct{ Options }

func newShow() *cobra.Command {
	o := &ShowOptions{}
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run, and why it ended as it did",
		Long: `Shows a run, and why it is in its state. Through the kubeconfig it also shows variables and input files; values of
variables that look secret, by their names or by the values, are masked. With -o json it prints what both ways know.

` + twoWays,
		Example: `  postflight runs show smoke-3f9c2k7q5x0a1b2c

  # Its state, for a script
  postflight runs show smoke-3f9c2k7q5x0a1b2c -o json | jq -r .state`,
		Args: cobra.ExactArgs(1),
		RunE: o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *ShowOptions) Run(ctx context.Context, id string) error {
	r, err := o.Source.Run(ctx, id)
	if err != nil {
		return err
	}
	return o.Console.Result(r, func() error {
		rows := o.rows(r)
		if c, ok := o.Source.(*ClusterRuns); ok {
			more, err := c.privateRows(ctx, id)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		return o.Console.Table(rows)
	})
}

// unseen is the message of a run that the manager has not seen.
const unseen = "The manager has not seen this run. Check that the manager is up."

func (o *ShowOptions) rows(r *client.Run) [][]string {
	message := r.Message
	if message == "" && !Ended(r) {
		message = unseen
	}
	rows := [][]string{
		{"Run:", r.ID}, {"State:", cli.StateOf(r)}, {"Why:", message}, {"Tests:", cli.TestsOf(r.Results)}, {"Files:", filesOf(r.Artifacts)},
		{"Trigger:", r.Trigger}, {"Environment:", r.Environment}, {"Branch:", r.Branch}, {"Commit:", r.SHA}, {"Message:", r.CommitMessage},
		{"Author:", r.CommitAuthor}, {"Repository:", r.Repository}, {"Service:", r.Service}, {"Type:", r.DeploymentType},
		{"URL:", r.DeploymentURL}, {"Attempt:", fmt.Sprint(r.Attempt)}, {"Superseded by:", r.SupersededBy}, {"Repeated by:", r.RepeatedBy},
		{"Repeats:", earlierAttempt(r)}, {"Failed tests of:", r.OnlyFailedOf}, {"Started by:", starterOf(r)},
		{"Tested:", strings.Join(testedOf(r.UnderTest), "; ")}, {"Created:", r.CreatedAt.UTC().Format(time.RFC3339)},
		{"Took:", took(r, o.Now())}, {"Archive:", archiveOf(r.Archive)}, {"Page:", r.URL},
	}
	if r.PodsKeptUntil != nil {
		until := r.PodsKeptUntil.UTC().Format(time.RFC3339)
		rows = append(rows, []string{"Pods kept:", fmt.Sprintf("until %s, for: postflight debug %s -n %s", until, r.ID, r.Namespace)})
	}
	if r.PullRequestNumber > 0 {
		rows = append(rows, []string{"Pull request:", fmt.Sprint(r.PullRequestNumber)})
	}
	return cli.WithValue(rows)
}

// testedOf names what a run tested, and what there was at the end if that differs.
func testedOf(u *client.UnderTest) (all []string) {
	if u == nil {
		return nil
	}
	for _, w := range u.Workloads {
		text := w.Kind + " " + cmp.Or(w.Name, "(none selected)")
		start, end := versionOf(w.Start), versionOf(w.End)
		if text += " " + start; w.End != nil && start != end {
			text += ", then " + end
		}
		all = append(all, text)
	}
	return all
}

func versionOf(v *client.WorkloadVersion) string {
	if v == nil {
		return "unknown"
	}
	return cmp.Or(v.SHA, v.Revision, "unknown")
}

func earlierAttempt(r *client.Run) string {
	if r.Repeats == "" || r.Retries == 0 {
		return r.Repeats
	}
	return fmt.Sprintf("%s, as retry %d after an error", r.Repeats, r.Retries)
}

func starterOf(r *client.Run) string {
	at := r.CreatedAt
	if r.ScheduledFor != nil {
		at = *r.ScheduledFor
	}
	return origin.StartedBy(v1alpha1.Origin(r.Origin), at, "")
}

func filesOf(a *client.Artifacts) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%d, %s", a.Count, cli.Size(a.Bytes))
}

func archiveOf(a *client.ArchiveState) string {
	switch {
	case a == nil:
		return ""
	case a.Done && a.Message == "":
		return "complete"
	default:
		return a.Message
	}
}

// privateRows are what only those see who may read Suites.
func (c *ClusterRuns) privateRows(ctx context.Context, id string) (rows [][]string, err error) {
	s, err := c.getSuite(ctx, id)
	if err != nil {
		return nil, err
	}
	variables := mask.Variables(s.Spec.Variables)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		rows = append(rows, []string{"Variable:", name + "=" + variables[name]})
	}
	for _, input := range s.Status.Inputs {
		rows = append(rows, []string{"Input:", fmt.Sprintf("%s (%s)", input.Path, cli.Size(input.Size))})
	}
	return rows, nil
}
