package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type keysRevokeOptions struct {
	cluster
	suspend bool
}

func newKeysRevoke() *cobra.Command {
	o := &keysRevokeOptions{}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke an API key at once",
		Example: `  postflight keys revoke github -n acme

  # Only for now: kubectl patch apikey github --type merge -p '{"spec":{"suspended":false}}' undoes it
  postflight keys revoke github -n acme --suspend`,
		Args: cobra.ExactArgs(1),
		RunE: o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	cmd.Flags().BoolVar(&o.suspend, "suspend", false, "suspend the key, which can be undone")
	o.addFlags(cmd)
	return cmd
}

func (o *keysRevokeOptions) run(ctx context.Context, name string) error {
	key := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}}
	var err error
	if o.suspend {
		err = o.client.Patch(ctx, key, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspended":true}}`)))
	} else {
		err = o.client.Delete(ctx, key)
	}
	if err != nil {
		return o.explainError(err, fmt.Sprintf("APIKey %q", name))
	}
	revoked := map[string]any{"name": name, "namespace": o.namespace, "revoked": true, "suspended": o.suspend}
	return o.console.result(revoked, func() error {
		o.console.note("The key %s is refused from now on.", name)
		return nil
	})
}
