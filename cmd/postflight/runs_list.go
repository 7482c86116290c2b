package main

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
)

// maxPage is the most runs that the server returns at once.
const maxPage = 100

type runsListOptions struct {
	runsOptions
	client.RunFilter
	allNamespaces bool
	limit         int
}

func newRunsList() *cobra.Command {
	o := &runsListOptions{}
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
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	cmd.RunE = o.command(func(ctx context.Context, _ []string) error {
		if c, ok := o.source.(*clusterRuns); ok {
			c.all = o.allNamespaces
		}
		return o.run(ctx)
	})
	f := cmd.Flags()
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list the runs of all teams, through the kubeconfig")
	f.StringVar(&o.Trigger, "trigger", "", "only those of the Trigger")
	f.StringVar(&o.Environment, "environment", "", "only those of the Environment")
	f.StringVar(&o.Branch, "branch", "", "only those of the branch")
	f.StringVar(&o.SHA, "sha", "", "only those of the commit; the first 7 characters are enough")
	f.StringVar(&o.State, "state", "", "only those in the state: "+strings.Join(v1alpha1.States(), ", "))
	f.IntVar(&o.limit, "limit", 50, "how many; 0 for all")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(v1alpha1.States(), cobra.ShellCompDirectiveNoFileComp))
	o.addFlags(cmd)
	return cmd
}

// check accepts a state in any case.
func (o *runsListOptions) check() error {
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

func (o *runsListOptions) run(ctx context.Context) error {
	o.PageSize = maxPage
	if o.limit > 0 {
		o.PageSize = min(o.limit+1, maxPage) // one more shows whether there are more
	}
	runs := []client.Run{} // JSON: never null
	for r, err := range o.source.Runs(ctx, o.RunFilter) {
		var incomplete *client.IncompleteError
		if errors.As(err, &incomplete) {
			o.console.note("Warning: archived runs are missing. %v", err)
			break
		}
		if err != nil {
			return err
		}
		if o.limit > 0 && len(runs) == o.limit {
			o.console.note("Showing the newest %d runs; --limit 0 shows all.", o.limit)
			break
		}
		runs = append(runs, r)
	}
	return o.console.result(runs, func() error {
		if len(runs) == 0 {
			o.console.note("There are no such runs %s.", o.source.scope())
			return nil
		}
		return o.console.table(o.rows(runs))
	})
}

func (o *runsListOptions) rows(runs []client.Run) [][]string {
	rows := [][]string{{"NAMESPACE", "RUN", "STATE", "TRIGGER", "ENVIRONMENT", "BRANCH", "COMMIT", "FAILED", "AGE", "TOOK"}}
	for _, r := range runs {
		rows = append(rows, []string{r.Namespace, r.ID, r.State, r.Trigger, r.Environment, cmp.Or(r.Branch, "-"),
			cmp.Or(shortSHA(r.SHA), "-"), failedOf(r.Results), age(r.CreatedAt, o.now()), took(&r, o.now())})
	}
	if !o.allNamespaces {
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
