package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// maxPage is the most runs that the server returns at once.
const maxPage = 100

type ListOptions struct {
	Options
	client.RunFilter
	AllNamespaces bool
	Limit         int
}

func newList() *cobra.Command {
	o := &ListOptions{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List runs, the newest first",
		Long:    "Lists runs, the newest first by their creation.\n\n" + twoWays,
		Example: `  # The failed runs of a branch
  postflight runs list --branch main --state Failed

  # The ids of all runs of a commit, for a script
  postflight runs list --sha 5ca1ab1e0ddb --limit 0 -o json | jq -r '.[].id'

  # What runs now, in all namespaces of the kubeconfig's cluster
  postflight runs list -A --state Running`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.Check() },
	}
	cmd.RunE = o.command(func(ctx context.Context, _ []string) error {
		if c, ok := o.Source.(*ClusterRuns); ok {
			c.All = o.AllNamespaces
		}
		return o.Run(ctx)
	})
	f := cmd.Flags()
	f.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list the runs of all teams, through the kubeconfig")
	f.StringVar(&o.Trigger, "trigger", "", "only those of the Trigger")
	f.StringVar(&o.Environment, "environment", "", "only those of the Environment")
	f.StringVar(&o.Branch, "branch", "", "only those of the branch")
	f.StringVar(&o.SHA, "sha", "", "only those of the commit; the first 7 characters are enough")
	f.StringVar(&o.State, "state", "", "only those in the state: "+strings.Join(v1alpha1.States(), ", "))
	f.IntVar(&o.Limit, "limit", 50, "how many; 0 for all")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(v1alpha1.States(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("trigger", o.way.Complete(access.Triggers))
	_ = cmd.RegisterFlagCompletionFunc("environment", o.way.Complete(access.Environments))
	o.addFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// Check accepts a state in any case.
func (o *ListOptions) Check() error {
	if o.SHA != "" && len(o.SHA) < 7 {
		return fmt.Errorf("--sha %q: write at least the first 7 characters of the commit", o.SHA)
	}
	if o.State == "" {
		return nil
	}
	states := v1alpha1.States()
	i := slices.IndexFunc(states, func(state string) bool { return strings.EqualFold(state, o.State) })
	if i < 0 {
		return fmt.Errorf("--state %q: the states are %s", o.State, strings.Join(states, ", "))
	}
	o.State = states[i]
	return nil
}

func (o *ListOptions) Run(ctx context.Context) error {
	o.PageSize = maxPage
	if o.Limit > 0 {
		o.PageSize = min(o.Limit+1, maxPage) // one more shows whether there are more
	}
	runs, more, err := cli.Collect(o.Source.Runs(ctx, o.RunFilter), o.Limit)
	if _, incomplete := errors.AsType[*client.IncompleteError](err); incomplete {
		o.Console.Note("Warning: archived runs are missing. %v", err)
	} else if err != nil {
		return err
	}
	if more {
		o.Console.Note("Showing the newest %d; --limit 0 shows all.", o.Limit)
	}
	return o.Console.Result(runs, func() error {
		if len(runs) == 0 {
			o.Console.Note("There are no such runs %s.", o.Source.scope())
			o.noteElsewhere(ctx)
			return nil
		}
		return o.Console.Table(o.rows(runs))
	})
}

// noteElsewhere says which Environments are in other clusters, whose runs a list does not have. It is only a hint, so errors are dropped.
func (o *ListOptions) noteElsewhere(ctx context.Context) {
	if _, byCluster := o.Source.(*ClusterRuns); o.Environment != "" && !byCluster { // the server has asked there
		return
	}
	all, _, _ := cli.Collect(o.Source.Environments(ctx), 0)
	for _, e := range all {
		if e.Cluster != "" && (o.Environment == "" || o.Environment == e.Name) {
			o.Console.Note("%s is in the cluster %s: %s.", e.Name, e.Cluster, o.Source.elsewhere(e.Name))
		}
	}
}

func (o *ListOptions) rows(runs []client.Run) [][]string {
	rows := [][]string{{"NAMESPACE", "RUN", "STATE", "TRIGGER", "ENVIRONMENT", "BRANCH", "COMMIT", "FAILED", "AGE", "TOOK"}}
	for _, r := range runs {
		rows = append(rows, []string{r.Namespace, r.ID, cli.StateOf(&r), v1alpha1.TestName(r.Trigger, r.Service), r.Environment,
			cmp.Or(r.Branch, "-"), cmp.Or(cli.ShortSHA(r.SHA), "-"), failedOf(r.Results), cli.Age(r.CreatedAt, o.Now()), took(&r, o.Now())})
	}
	if !o.AllNamespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}

// failedOf is how many tests failed, of how many.
func failedOf(r *client.TestResults) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.Failed, r.Tests)
}
