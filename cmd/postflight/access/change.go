package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

// ChangingCommand is Command for what changes the cluster. If the server named the namespace, the kubeconfig has to lead to the cluster of
// the server: another cluster may have a namespace of the same name.
func (c *Cluster) ChangingCommand(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return c.Command(func(ctx context.Context, args []string) error {
		if err := c.checkServerCluster(ctx); err != nil {
			return fmt.Errorf("nothing was changed in the namespace %s, which the server of $POSTFLIGHT_URL named, because it is not certain that "+
				"the kubeconfig leads to the cluster of this server: %w. If it does, add -n %[1]s; to name another cluster, add --context CONTEXT",
				c.Namespace, err)
		}
		return run(ctx, args)
	})
}

// checkServerCluster looks in the cluster for the API key that the server accepted.
func (c *Cluster) checkServerCluster(ctx context.Context) error {
	switch {
	case c.sender == nil:
		return nil // the namespace is from a flag, or from the kubeconfig
	case !c.sender.Key:
		return errors.New("you sent no API key to compare with those of the cluster")
	}
	value, err := c.sender.Token(ctx, "")
	if err != nil {
		return err
	}
	key := &v1alpha1.APIKey{}
	namespace, name, _ := strings.Cut(c.key, "/")
	switch err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, key); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no APIKey %s there", c.key)
	case err != nil:
		return fmt.Errorf("the APIKey %s there cannot be read: %w", c.key, err)
	case key.Spec.SHA256 != apikey.Digest(value):
		return fmt.Errorf("the APIKey %s there has another key", c.key)
	}
	return nil
}
