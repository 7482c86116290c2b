package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// secretKey is where the Secret has the key, and the name of the variable in CI.
	secretKey = "POSTFLIGHT_API_KEY"

	// keepExpired is how long an expired key stays: a pipeline that still sends it is told why it is refused.
	keepExpired = 7 * 24 * time.Hour

	// completeWithin is how old a key may be that a repeated rotation completes, instead of making another one: a CronJob repeats what fails.
	completeWithin = time.Hour

	maxRotated = 63 - len("-20060102-150405") // bytes of a NAME: it is a label, and begins the name of an APIKey
)

type RotateOptions struct {
	access.Cluster
	Description string
	Secret      string        // where the key goes
	Expires     time.Duration // of the new key
	Overlap     time.Duration // how long the earlier ones still work
}

func newRotate() *cobra.Command {
	o := &RotateOptions{}
	var expires, overlap string
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Replace an API key in a Secret, and let the earlier one expire",
		Long: `Makes a new API key, writes it into a Secret, and lets the earlier ones of the same NAME expire after the overlap.
Run it in a CronJob, and let something else carry the Secret to your CI, such as a PushSecret of External Secrets.
The new APIKey is called NAME and the time. Keys that expired a week ago are deleted.`,
		Example: `  postflight keys rotate ci -n shop --secret postflight-key --expires 90d --overlap 7d`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if o.Expires, err = duration("--expires", expires); err != nil {
				return err
			}
			if o.Overlap, err = duration("--overlap", overlap); err != nil {
				return err
			}
			if o.Overlap >= o.Expires {
				return errors.New("--overlap must be shorter than --expires: otherwise earlier keys expire first")
			}
			return nil
		},
		RunE: o.ChangingCommand(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	cmd.Flags().StringVar(&o.Description, "description", "", "who uses the key")
	cmd.Flags().StringVar(&o.Secret, "secret", "", "name of the Secret that gets the key, as "+secretKey)
	cmd.Flags().StringVar(&expires, "expires", "90d", "when the new key stops working")
	cmd.Flags().StringVar(&overlap, "overlap", "7d",
		"how long the earlier keys still work: longer than your CI takes to get the new one, and than a pipeline takes")
	_ = cmd.MarkFlagRequired("secret")
	cmd.ValidArgsFunction = access.First(o.Complete(access.APIKeys))
	o.AddFlags(cmd)
	return cmd
}

func duration(flag, text string) (time.Duration, error) {
	d, err := plaintext.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s %q: write it like 90d or 12h", flag, text)
	}
	return d, nil
}

// Run shortens the life of earlier keys last: if it fails before, they work as long as they would have.
func (o *RotateOptions) Run(ctx context.Context, name string) error {
	if len(name) > maxRotated {
		return fmt.Errorf("the name %s has %d characters, and %d are allowed: the time is added to it", name, len(name), maxRotated)
	}
	list := &v1alpha1.APIKeyList{}
	if err := o.Client.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
		return o.ExplainError(err, "APIKeys")
	}
	earlier := slices.DeleteFunc(list.Items, func(k v1alpha1.APIKey) bool {
		return k.Name != name && k.Labels[v1alpha1.LabelRotation] != name
	})
	made, err := o.begun(ctx, earlier)
	if made == nil && err == nil {
		made, err = o.replace(ctx, name)
	}
	if err != nil {
		return err
	}
	for i := range earlier {
		if earlier[i].Name == made.Name {
			continue
		}
		if err := o.retire(ctx, &earlier[i]); err != nil {
			return err
		}
	}
	result := map[string]any{"name": made.Name, "namespace": o.Namespace, "secret": o.Secret, "expiresAt": made.Spec.ExpiresAt}
	return o.Console.Result(result, func() error {
		o.Console.Note("The Secret %s %s has the key of the APIKey %s, which expires at %s. Earlier keys work until %s at most.",
			o.Secret, o.Place(), made.Name, made.Spec.ExpiresAt.UTC().Format(time.RFC3339), o.Clock.Now().Add(o.Overlap).UTC().Format(time.RFC3339))
		return nil
	})
}

// begun returns the key of the Secret if a rotation made it just now, and failed afterwards; nil: there is none.
func (o *RotateOptions) begun(ctx context.Context, earlier []v1alpha1.APIKey) (*v1alpha1.APIKey, error) {
	secret := &corev1.Secret{}
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Secret}, secret)
	if apierror.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, o.ExplainError(err, fmt.Sprintf("Secret %q", o.Secret))
	}
	digest := apikey.Digest(string(secret.Data[secretKey]))
	for i, k := range earlier {
		if k.Spec.SHA256 == digest && k.Labels[v1alpha1.LabelRotation] != "" && o.Clock.Since(k.CreationTimestamp.Time) < completeWithin {
			return &earlier[i], nil
		}
	}
	return nil, nil
}

// replace deletes a new key that the Secret surely did not get.
func (o *RotateOptions) replace(ctx context.Context, name string) (*v1alpha1.APIKey, error) {
	key, now := apikey.New(o.Namespace), o.Clock.Now()
	made := &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: name + now.UTC().Format("-20060102-150405"), Labels: map[string]string{v1alpha1.LabelRotation: name},
		},
		Spec: v1alpha1.APIKeySpec{
			SHA256: apikey.Digest(key), NamesNamespace: true, Description: o.Description, ExpiresAt: &metav1.Time{Time: now.Add(o.Expires)},
		},
	}
	if err := o.Client.Create(ctx, made); err != nil {
		return nil, o.ExplainError(err, fmt.Sprintf("APIKey %q", made.Name))
	}
	secret := corev1ac.Secret(o.Secret, o.Namespace).WithData(map[string][]byte{secretKey: []byte(key)})
	if err := o.Client.Apply(ctx, secret, client.FieldOwner("postflight-keys-rotate"), client.ForceOwnership); err != nil {
		explained := o.ExplainError(err, fmt.Sprintf("Secret %q", o.Secret))
		if apierror.Unanswered(err) { // the Secret may have the key
			return nil, fmt.Errorf("%w. The APIKey %s stays, because the Secret may have its key", explained, made.Name)
		}
		return nil, errors.Join(explained, o.Client.Delete(ctx, made))
	}
	return made, nil
}

func (o *RotateOptions) retire(ctx context.Context, k *v1alpha1.APIKey) error {
	now := o.Clock.Now()
	last := now.Add(o.Overlap)
	expires := k.Spec.ExpiresAt
	switch {
	case expires != nil && expires.Before(&metav1.Time{Time: now.Add(-keepExpired)}):
		return client.IgnoreNotFound(o.Client.Delete(ctx, k))
	case expires != nil && !expires.After(last):
		return nil
	}
	patch := fmt.Sprintf(`{"spec":{"expiresAt":%q}}`, last.UTC().Format(time.RFC3339))
	err := o.Client.Patch(ctx, k, client.RawPatch(types.MergePatchType, []byte(patch)))
	return o.ExplainError(client.IgnoreNotFound(err), fmt.Sprintf("APIKey %q", k.Name))
}
