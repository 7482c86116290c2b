package environments

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

type ListOptions struct {
	Options
	AllNamespaces bool
}

func newList() *cobra.Command {
	o := &ListOptions{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List Environments with what is deployed there",
		Long: `Lists Environments by name, with a line for each repository, and each service of one, that is deployed there. AGE is since
when, and ROLLOUT whether all workloads run the commit. Below is why Environments are on hold, or have to settle.

` + access.TwoWays,
		Example: `  postflight environments list

  # What is not rolled out?
  postflight environments list -o json | jq -r '.[] | select(any(.deployed[]; .ready == false)).name'

  # What is on hold?
  postflight environments list -o json | jq -r '.[] | select(.hold).name'

  # All teams of the kubeconfig's cluster
  postflight environments list -A`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = o.command(&o.AllNamespaces, func(ctx context.Context, _ []string) error { return o.Run(ctx) })
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list the Environments of all teams, through the kubeconfig")
	o.addFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func (o *ListOptions) Run(ctx context.Context) error {
	all, _, err := cli.Collect(o.Source.Environments(ctx), 0)
	if err != nil {
		return err
	}
	return o.Console.Result(all, func() error {
		if len(all) == 0 {
			o.Console.Note("There are no Environments %s.", o.Scope)
			return nil
		}
		if err := o.Console.Table(o.rows(all)); err != nil {
			return err
		}
		for _, e := range all {
			if e.Ready != nil && !*e.Ready {
				o.Console.Note("%s: %s", e.Name, e.Message)
			}
			if e.Cluster != "" {
				o.Console.Note("%s is in the cluster %s: %s.", e.Name, e.Cluster, o.elsewhere())
			}
			if hold := o.hold(e); hold != "" {
				o.Console.Note("%s is on hold %s.", e.Name, hold)
			}
			if settling := o.settling(e); settling != "" {
				o.Console.Note("%s has to settle: %s.", e.Name, settling)
			}
		}
		return nil
	})
}

// elsewhere says how to ask another cluster.
func (o *ListOptions) elsewhere() string {
	if _, byServer := o.Source.(*client.Client); byServer {
		return "\"postflight environments show\" with its name asks there"
	}
	return access.AskHub
}

func (o *ListOptions) rows(all []client.EnvironmentStatus) [][]string {
	rows := [][]string{{"NAMESPACE", "ENVIRONMENT", "REPOSITORY", "COMMIT", "BRANCH", "AGE", "REPORTED BY", "ROLLOUT", "HOLD"}}
	for _, e := range all {
		deployed, hold := e.Deployed, "-"
		if e.Hold != nil {
			hold = "until " + queue.HoldEnd(e.Hold.Until, o.Now())
		}
		if len(deployed) == 0 {
			deployed = []client.Deployed{{}}
		}
		for _, d := range deployed {
			rows = append(rows, []string{
				e.Namespace, e.Name, cli.OrDash(commit.PartOf(d.Repository, d.Service).String()), commitOf(d),
				cli.OrDash(d.Branch), o.since(d), cli.OrDash(d.ReportedBy), rollout(d), hold,
			})
		}
	}
	if !o.AllNamespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}
