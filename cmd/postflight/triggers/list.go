package triggers

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type ListOptions struct {
	access.Cluster
	AllNamespaces bool
}

func newList() *cobra.Command {
	o := &ListOptions{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List Triggers, with what each matches and how its last run ended",
		Long: `Lists Triggers by name, with the branches, deployment types and services that each matches, whether it works, and the state of
its last run. Below are the reasons of those that do not work, and warnings.`,
		Example: `  postflight triggers list -n shop

  # Which Triggers do not work, in all namespaces?
  postflight triggers list -A -o json |
    jq -r '.[] | select(any(.status.conditions[]?; .type == "Ready" and .status == "False")).metadata.name'`,
		Args: cobra.NoArgs,
		RunE: o.Command(func(ctx context.Context, _ []string) error { return o.Run(ctx) }),
	}
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list the Triggers of all teams")
	o.AddFlags(cmd)
	return cmd
}

func (o *ListOptions) Run(ctx context.Context) error {
	var list v1alpha1.TriggerList
	if err := o.List(ctx, "Triggers", o.AllNamespaces, &list); err != nil {
		return err
	}
	return o.Console.Result(list.Items, func() error {
		if len(list.Items) == 0 {
			o.Console.Note("There are no Triggers %s.", o.Scope(o.AllNamespaces))
			return nil
		}
		if err := o.Console.Table(o.rows(list.Items)); err != nil {
			return err
		}
		for i := range list.Items {
			conditions := list.Items[i].Status.Conditions
			if note := v1alpha1.ReadyProblem(conditions) + v1alpha1.ReadyWarning(conditions); note != "" { // it has one of them
				o.Console.Note("%s: %s", list.Items[i].Name, note)
			}
		}
		return nil
	})
}

func (o *ListOptions) rows(triggers []v1alpha1.Trigger) [][]string {
	rows := [][]string{{"NAMESPACE", "TRIGGER", "ENVIRONMENT", "BRANCHES", "TYPES", "SERVICES", "STATE", "LAST RUN", "AGE"}}
	for i := range triggers {
		t, last := &triggers[i], ""
		if t.Status.LastSuite != nil {
			last = t.Status.LastSuite.State
		}
		rows = append(rows, []string{t.Namespace, t.Name, t.Spec.Environment, cli.OrDash(strings.Join(t.Spec.Match.Branches, ",")),
			cli.OrDash(strings.Join(t.Spec.Match.DeploymentTypes, ",")), cli.OrDash(strings.Join(t.Spec.Match.Services, ",")),
			stateOf(t), cli.OrDash(last), cli.Age(t.CreationTimestamp.Time, o.Clock.Now())})
	}
	if !o.AllNamespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}

// stateOf is whether a Trigger starts runs; "-" before the manager has seen it.
func stateOf(t *v1alpha1.Trigger) string {
	ready := readyOf(t)
	switch {
	case ready.Status == metav1.ConditionFalse:
		return "Not ready"
	case t.Spec.Paused:
		return "Paused"
	case ready.Status == metav1.ConditionTrue:
		return "Ready"
	default:
		return "-"
	}
}

func readyOf(t *v1alpha1.Trigger) metav1.Condition {
	if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}
