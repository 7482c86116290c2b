package keys

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type ListOptions struct{ access.Cluster }

func newList() *cobra.Command {
	o := &ListOptions{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the API keys of a namespace, and when they were last used",
		Long: `Lists the API keys of a namespace. The server records the last use of a key every ten minutes at most, so
LAST USED may be up to ten minutes old.`,
		Example: "  postflight keys list -n acme",
		Args:    cobra.NoArgs,
		RunE:    o.Command(func(ctx context.Context, _ []string) error { return o.Run(ctx) }),
	}
	o.AddFlags(cmd)
	return cmd
}

func (o *ListOptions) Run(ctx context.Context) error {
	var list v1alpha1.APIKeyList
	if err := o.List(ctx, "APIKeys", false, &list); err != nil {
		return err
	}
	return o.Console.Result(list.Items, func() error {
		if len(list.Items) == 0 {
			o.Console.Note("There are no APIKeys in the namespace %s. Make one: postflight keys create ci -n %s", o.Namespace, o.Namespace)
			return nil
		}
		rows := [][]string{{"NAME", "STATE", "EXPIRES", "LAST USED", "AGE", "DESCRIPTION"}}
		for _, k := range list.Items {
			expires, used := "never", "never"
			if k.Spec.ExpiresAt != nil {
				expires = k.Spec.ExpiresAt.UTC().Format(time.DateOnly)
			}
			if k.Status.LastUsedTime != nil {
				used = cli.Age(k.Status.LastUsedTime.Time, o.Clock.Now()) + " ago"
			}
			rows = append(rows, []string{k.Name, o.state(&k), expires, used, cli.Age(k.CreationTimestamp.Time, o.Clock.Now()), k.Spec.Description})
		}
		return o.Console.Table(rows)
	})
}

// state of a key as its object shows it; the manager may not have seen a new one.
func (o *ListOptions) state(k *v1alpha1.APIKey) string {
	ready := meta.FindStatusCondition(k.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case k.Spec.Suspended:
		return "suspended"
	case k.Spec.ExpiresAt != nil && !o.Clock.Now().Before(k.Spec.ExpiresAt.Time):
		return "expired"
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return "refused (" + ready.Reason + ")"
	default:
		return "active"
	}
}
