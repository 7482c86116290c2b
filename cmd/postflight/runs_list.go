package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

type runsListOptions struct {
	cluster
	allNamespaces          bool
	trigger, branch, state string
	limit                  int
}

func newRunsList() *cobra.Command {
	o := &runsListOptions{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List runs, the newest first",
		Example: "  postflight runs list -n acme --branch main --state Failed",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.checkState() },
		RunE:    o.command(func(ctx context.Context, _ []string) error { return o.run(ctx) }),
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list the runs of all teams")
	cmd.Flags().StringVar(&o.trigger, "trigger", "", "only those of the Trigger")
	cmd.Flags().StringVar(&o.branch, "branch", "", "only those of the branch")
	cmd.Flags().StringVar(&o.state, "state", "", "only those in the state: "+strings.Join(states, ", "))
	cmd.Flags().IntVar(&o.limit, "limit", 50, "how many; 0 for all")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	o.addFlags(cmd)
	return cmd
}

var states = append([]string{stateNew}, v1alpha1.States()...)

// checkState accepts a state in any case.
func (o *runsListOptions) checkState() error {
	if o.state == "" {
		return nil
	}
	i := slices.IndexFunc(states, func(state string) bool { return strings.EqualFold(state, o.state) })
	if i < 0 {
		return fmt.Errorf("--state %q: the states are %s", o.state, strings.Join(states, ", "))
	}
	o.state = states[i]
	return nil
}

func (o *runsListOptions) wants(s *v1alpha1.Suite) bool {
	return (o.trigger == "" || s.Spec.Trigger.Name == o.trigger) &&
		(o.branch == "" || s.Spec.Deployment.Branch == o.branch) &&
		(o.state == "" || stateOf(s) == o.state)
}

func (o *runsListOptions) run(ctx context.Context) error {
	var list v1alpha1.SuiteList
	namespace, where := o.namespace, "the namespace "+o.namespace
	if o.allNamespaces {
		namespace, where = "", "any namespace"
	}
	if err := o.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return o.explainError(err, "runs")
	}
	if len(list.Items) == 0 && !o.allNamespaces {
		if err := o.checkNamespace(ctx); err != nil {
			return err
		}
	}
	runs := slices.DeleteFunc(list.Items, func(s v1alpha1.Suite) bool { return !o.wants(&s) })
	slices.SortFunc(runs, func(a, b v1alpha1.Suite) int { return suite.Compare(&b, &a) })
	if o.limit > 0 && len(runs) > o.limit {
		o.console.note("Showing the newest %d of %d runs; --limit 0 shows all.", o.limit, len(runs))
		runs = runs[:o.limit]
	}
	return o.console.result(runs, func() error {
		if len(runs) == 0 {
			o.console.note("There are no such runs in %s.", where)
			return nil
		}
		return o.console.table(o.rows(runs))
	})
}

func (o *runsListOptions) rows(runs []v1alpha1.Suite) [][]string {
	rows := [][]string{{"NAMESPACE", "RUN", "STATE", "TRIGGER", "ENVIRONMENT", "BRANCH", "COMMIT", "AGE", "TOOK"}}
	for _, s := range runs {
		d := s.Spec.Deployment
		rows = append(rows, []string{s.Namespace, s.Name, stateOf(&s), s.Spec.Trigger.Name, s.Spec.Environment, cmp.Or(d.Branch, "-"),
			cmp.Or(shortSHA(d.SHA), "-"), age(s.Received().Time, o.clock.Now()), o.took(&s)})
	}
	if !o.allNamespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}
