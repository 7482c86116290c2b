package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/apikey"
)

type CreateOptions struct {
	access.Cluster
	Description string
	Expires     time.Duration // 0: never
	Existing    string        // a key to keep; empty: make one
}

func newCreate() *cobra.Command {
	o := &CreateOptions{}
	var expires string
	var stdin bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an API key, and print it once",
		Long: `Makes an API key for the team that owns the namespace, and prints it on standard output. The cluster
stores only its hash: a lost key cannot be shown again, only replaced.

A key starts with pf_ and its namespace, the only one where it is accepted, and ends in a checksum, so that
secret scanners recognize it. If your pipelines have keys already, keep them with --from-stdin, whatever
their form.`,
		Example: `  postflight keys create github -n acme --description "GitHub Actions of acme/shop" --expires 90d

  # Straight into the secrets of a repository
  postflight keys create github -n acme | gh secret set POSTFLIGHT_API_KEY

  # Keep the key that the pipelines have already
  printf %s "$OLD_KEY" | postflight keys create legacy -n acme --from-stdin`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			d, err := model.ParseDuration(cmp.Or(expires, "0"))
			if err != nil || expires != "" && d == 0 {
				return fmt.Errorf("--expires %q: write it like 90d or 12h", expires)
			}
			o.Expires = time.Duration(d)
			return nil
		},
	}
	cmd.RunE = o.Command(func(ctx context.Context, args []string) (err error) {
		if stdin {
			if o.Existing, err = readKey(ctx, cmd.InOrStdin()); err != nil {
				return err
			}
			if o.Existing == "" {
				return errors.New("the key on standard input is empty")
			}
		}
		return o.Run(ctx, args[0])
	})
	cmd.Flags().StringVar(&o.Description, "description", "", "who uses the key")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key stops working, e.g. 90d or 12h; default: never")
	cmd.Flags().BoolVar(&stdin, "from-stdin", false, "register the key on standard input, instead of making a new one")
	o.AddFlags(cmd)
	return cmd
}

// createdKey is what -o json prints.
type createdKey struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Key       string       `json:"key,omitempty"` // of a new one, this once
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// Run makes an APIKey object, and prints the key, which is stored nowhere.
func (o *CreateOptions) Run(ctx context.Context, name string) error {
	key := cmp.Or(o.Existing, apikey.New(o.Namespace))
	if err := apikey.Check(key); err != nil {
		return err
	}
	names := apikey.Namespace(key)
	if names != "" && names != o.Namespace {
		return fmt.Errorf("the key names the namespace %s, and would be refused in the namespace %s: make a new one there", names, o.Namespace)
	}
	object := &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(key), NamesNamespace: names != "", Description: o.Description},
	}
	if o.Expires > 0 {
		object.Spec.ExpiresAt = &metav1.Time{Time: o.Clock.Now().Add(o.Expires)}
	}
	if err := o.Client.Create(ctx, object); err != nil {
		return o.ExplainError(err, fmt.Sprintf("APIKey %q", name))
	}
	o.warnWithoutTeam(ctx)
	created := createdKey{Name: name, Namespace: o.Namespace, Key: key, ExpiresAt: object.Spec.ExpiresAt}
	if o.Existing != "" {
		created.Key = "" // its owner has it
	}
	return o.Console.Result(created, func() error {
		o.print(created)
		return nil
	})
}

// warnWithoutTeam warns of a key that will be refused. Users who may not list Teams get no warning.
func (o *CreateOptions) warnWithoutTeam(ctx context.Context) {
	var teams v1alpha1.TeamList
	owns := func(t v1alpha1.Team) bool { return t.NamespaceName() == o.Namespace }
	if err := o.Client.List(ctx, &teams); err == nil && !slices.ContainsFunc(teams.Items, owns) {
		o.Console.Note("Warning: no Team owns the namespace %s, so the key is refused until one does.", o.Namespace)
	}
}

func (o *CreateOptions) print(k createdKey) {
	if k.Key == "" {
		o.Console.Note("APIKey %s in the namespace %s has the hash of the given key. "+
			"To see whether it is accepted: kubectl get apikey %s -n %s -o wide",
			k.Name, k.Namespace, k.Name, k.Namespace)
		return
	}
	o.Console.Note("APIKey %s in the namespace %s. The key is shown only this once; "+
		"keep it as POSTFLIGHT_API_KEY in the secrets of your CI:", k.Name, k.Namespace)
	fmt.Fprintln(o.Console.Out, k.Key)
}

// readKey reads a line, without the line break of the shell. An interrupt ends it, even at a terminal.
func readKey(ctx context.Context, in io.Reader) (string, error) {
	var content []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		content, err = io.ReadAll(io.LimitReader(in, 8192))
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-read:
		return strings.TrimRight(string(content), "\r\n"), err
	}
}
