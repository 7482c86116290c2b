package keys

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
)

type RevokeOptions struct {
	access.Cluster
	Suspend bool
}

func newRevoke() *cobra.Command {
	o := &RevokeOptions{}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke an API key at once",
		Example: `  postflight keys revoke github -n acme

  # Only for now: kubectl patch apikey github --type merge -p '{"spec":{"suspended":false}}' undoes it
  postflight keys revoke github -n acme --suspend`,
		Args: cobra.ExactArgs(1),
		RunE: o.ChangingCommand(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	cmd.Flags().BoolVar(&o.Suspend, "suspend", false, "suspend the key, which can be undone")
	cmd.ValidArgsFunction = access.First(o.Complete(access.APIKeys))
	o.AddFlags(cmd)
	return cmd
}

func (o *RevokeOptions) Run(ctx context.Context, name string) error {
	key := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}}
	var err error
	if o.Suspend {
		err = o.Client.Patch(ctx, key, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspended":true}}`)))
	} else {
		err = o.Client.Delete(ctx, key)
	}
	if err != nil {
		return o.ExplainError(err, fmt.Sprintf("APIKey %q", name))
	}
	revoked := map[string]any{"name": name, "namespace": o.Namespace, "revoked": true, "suspended": o.Suspend}
	return o.Console.Result(revoked, func() error {
		o.Console.Note("The key %s %s is refused from now on.", name, o.Place())
		return nil
	})
}
