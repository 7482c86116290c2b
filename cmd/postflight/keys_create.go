package main

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
	"github.com/postflight-dev/postflight/internal/core/apikey"
)

type keysCreateOptions struct {
	cluster
	description string
	expires     time.Duration // 0: never
	existing    string        // a key to keep; empty: make one
}

func newKeysCreate() *cobra.Command {
	o := &keysCreateOptions{}
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
			o.expires = time.Duration(d)
			return nil
		},
	}
	cmd.RunE = o.command(func(ctx context.Context, args []string) (err error) {
		if stdin {
			if o.existing, err = readKey(ctx, cmd.InOrStdin()); err != nil {
				return err
			}
			if o.existing == "" {
				return errors.New("the key on standard input is empty")
			}
		}
		return o.run(ctx, args[0])
	})
	cmd.Flags().StringVar(&o.description, "description", "", "who uses the key")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key stops working, e.g. 90d or 12h; default: never")
	cmd.Flags().BoolVar(&stdin, "from-stdin", false, "register the key on standard input, instead of making a new one")
	o.addFlags(cmd)
	return cmd
}

// createdKey is what -o json prints.
type createdKey struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Key       string       `json:"key,omitempty"` // of a new one, this once
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// run makes an APIKey object, and prints the key, which is stored nowhere.
func (o *keysCreateOptions) run(ctx context.Context, name string) error {
	key := cmp.Or(o.existing, apikey.New(o.namespace))
	if err := apikey.Check(key); err != nil {
		return err
	}
	names := apikey.Namespace(key)
	if names != "" && names != o.namespace {
		return fmt.Errorf("the key names the namespace %s, and would be refused in the namespace %s: make a new one there", names, o.namespace)
	}
	object := &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(key), NamesNamespace: names != "", Description: o.description},
	}
	if o.expires > 0 {
		object.Spec.ExpiresAt = &metav1.Time{Time: o.clock.Now().Add(o.expires)}
	}
	if err := o.client.Create(ctx, object); err != nil {
		return o.explainError(err, fmt.Sprintf("APIKey %q", name))
	}
	o.warnWithoutTeam(ctx)
	created := createdKey{Name: name, Namespace: o.namespace, Key: key, ExpiresAt: object.Spec.ExpiresAt}
	if o.existing != "" {
		created.Key = "" // its owner has it
	}
	return o.console.result(created, func() error {
		o.print(created)
		return nil
	})
}

// warnWithoutTeam warns of a key that will be refused. Users who may not list Teams get no warning.
func (o *keysCreateOptions) warnWithoutTeam(ctx context.Context) {
	var teams v1alpha1.TeamList
	owns := func(t v1alpha1.Team) bool { return t.NamespaceName() == o.namespace }
	if err := o.client.List(ctx, &teams); err == nil && !slices.ContainsFunc(teams.Items, owns) {
		o.console.note("Warning: no Team owns the namespace %s, so the key is refused until one does.", o.namespace)
	}
}

func (o *keysCreateOptions) print(k createdKey) {
	if k.Key == "" {
		o.console.note("APIKey %s in the namespace %s has the hash of the given key. "+
			"To see whether it is accepted: kubectl get apikey %s -n %s -o wide",
			k.Name, k.Namespace, k.Name, k.Namespace)
		return
	}
	o.console.note("APIKey %s in the namespace %s. The key is shown only this once; "+
		"keep it as POSTFLIGHT_API_KEY in the secrets of your CI:", k.Name, k.Namespace)
	fmt.Fprintln(o.console.out, k.Key)
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
