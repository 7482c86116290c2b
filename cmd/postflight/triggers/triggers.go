// Package triggers has the commands about Triggers.
package triggers

import (
	"context"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "triggers",
		Aliases: []string{"trigger"},
		Short:   "List Triggers, and show one with what it inherits, through the kubeconfig",
	}, newList(), newShow())
}

type ShowOptions struct {
	access.Cluster
	Effective bool
}

func newShow() *cobra.Command {
	o := &ShowOptions{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a Trigger, with --effective merged over its TriggerClass",
		Long: `Shows a Trigger as YAML. With --effective, it is merged over the TriggerClass that it names, as the manager does when
a run starts, and has the times that count if neither sets them. TriggerClasses belong to the cluster, so you need the right to read them there.`,
		Example: `  postflight triggers show e2e -n shop --effective

  # What does the class change?
  diff <(postflight triggers show e2e -n shop) <(postflight triggers show e2e -n shop --effective)`,
		Args: cobra.ExactArgs(1),
		RunE: o.Command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	cmd.Flags().BoolVar(&o.Effective, "effective", false, "merge the Trigger over its TriggerClass")
	cmd.ValidArgsFunction = access.First(o.Complete(access.Triggers))
	o.AddFlags(cmd)
	return cmd
}

func (o *ShowOptions) Run(ctx context.Context, name string) error {
	t := &v1alpha1.Trigger{}
	if err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: name}, t); err != nil {
		return o.ExplainError(err, "Trigger "+name)
	}
	if o.Effective {
		complete, err := o.CompleteTrigger(ctx, t)
		if err != nil {
			return err
		}
		t = withTimes(complete)
	}
	return o.Console.WriteYAML(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Trigger",
		"metadata": metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name, Labels: t.Labels}, "spec": t.Spec,
	})
}

// withTimes sets the times of a Trigger that nothing sets to those that count then.
func withTimes(t *v1alpha1.Trigger) *v1alpha1.Trigger {
	t = t.DeepCopy()
	t.Spec.Timeout, t.Spec.StartTimeout = &metav1.Duration{Duration: t.RunTimeout()}, &metav1.Duration{Duration: t.StartTimeout()}
	t.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: t.SuiteTTL()}
	return t
}
