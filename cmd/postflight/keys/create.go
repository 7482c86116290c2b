package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

type CreateOptions struct {
	access.Cluster
	Description string
	Expires     time.Duration // 0: never
	Existing    string        // a key to keep; empty: make one
	DryRun      bool          // print the APIKey instead of creating it
	KeyFile     string        // where to write a new key; empty: print it
}

const createLong = `Makes an API key for the team that owns the namespace, and prints it on standard output. The cluster
stores only its hash: a lost key cannot be shown again, only replaced.

A key starts with pf_ and its namespace, the only one where it is accepted, and ends in a checksum, so that
secret scanners recognize it. If your pipelines have keys already, keep them with --from-stdin, whatever
their form.

With --dry-run, nothing is created and no cluster is needed: the APIKey is printed as YAML, for Git, and the key goes
to the file of --key-file.`

const createExample = `  postflight keys create github -n acme --description "GitHub Actions of acme/shop" --expires 90d

  # Straight into the secrets of a repository
  postflight keys create github -n acme | gh secret set POSTFLIGHT_API_KEY

  # The APIKey for Git, and the key for the secrets of a repository
  postflight keys create ci -n shop --expires 365d --dry-run --key-file ci.key > teams/shop/key.yaml
  gh secret set POSTFLIGHT_API_KEY --repo acme/shop < ci.key && rm ci.key

  # Keep the key that the pipelines have already
  printf %s "$OLD_KEY" | postflight keys create legacy -n acme --from-stdin`

func newCreate() *cobra.Command {
	o := &CreateOptions{}
	var expires string
	var stdin bool
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make an API key, and print it once",
		Long:    createLong,
		Example: createExample,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if expires != "" {
				o.Expires, err = duration("--expires", expires)
			}
			return cmp.Or(err, o.checkDryRun(stdin))
		},
	}
	create := func(ctx context.Context, args []string) (err error) {
		if stdin {
			o.Existing, err = readKey(ctx, cmd.InOrStdin())
		}
		if err != nil {
			return err
		}
		return o.Run(ctx, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.DryRun {
			return o.Offline(create)(cmd, args)
		}
		return o.ChangingCommand(create)(cmd, args)
	}
	cmd.Flags().StringVar(&o.Description, "description", "", "who uses the key")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key stops working, e.g. 90d or 12h; default: never")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the APIKey as YAML, and create nothing")
	cmd.Flags().StringVar(&o.KeyFile, "key-file", "", "write the key to this new file, which only you can read, and do not print it")
	cmd.Flags().BoolVar(&stdin, "from-stdin", false, "register the key on standard input, instead of making a new one")
	o.AddFlags(cmd)
	return cmd
}

// checkDryRun keeps the key out of what goes to Git, and out of the logs that have everything else.
func (o *CreateOptions) checkDryRun(stdin bool) error {
	switch {
	case stdin && o.KeyFile != "":
		return errors.New("--key-file is for a new key: with --from-stdin, you have the key")
	case o.DryRun && o.Namespace == "":
		return errors.New("--dry-run asks no cluster: name the namespace of the team with --namespace")
	case o.DryRun && !stdin && o.KeyFile == "":
		return errors.New("--dry-run prints the APIKey, which has only the hash: say with --key-file where the key goes")
	default:
		return nil
	}
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
	if err := o.create(ctx, object, key); err != nil {
		return err
	}
	if o.DryRun {
		return o.Console.WriteYAML(map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "APIKey",
			"metadata": map[string]string{"namespace": o.Namespace, "name": name}, "spec": object.Spec,
		})
	}
	o.WarnUnowned(ctx, "the key is refused")
	created := createdKey{Name: name, Namespace: o.Namespace, Key: key, ExpiresAt: object.Spec.ExpiresAt}
	if o.Existing != "" || o.KeyFile != "" {
		created.Key = "" // its owner has it
	}
	return o.Console.Result(created, func() error {
		o.print(created)
		return nil
	})
}

// create writes the file first: a key whose object exists would be lost without it.
func (o *CreateOptions) create(ctx context.Context, object *v1alpha1.APIKey, key string) error {
	if o.KeyFile != "" {
		if err := writeKey(o.KeyFile, key); err != nil {
			return fmt.Errorf("--key-file: %w", err)
		}
	}
	if o.DryRun {
		return nil
	}
	err := o.Client.Create(ctx, object)
	if err != nil && !apierror.Unanswered(err) && o.KeyFile != "" {
		_ = os.Remove(o.KeyFile) // the API server refused the key; without an answer, it may exist
	}
	return o.ExplainError(err, fmt.Sprintf("APIKey %q", object.Name))
}

// writeKey never overwrites a file, which may have another key.
func writeKey(path, key string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(key + "\n")
	return errors.Join(err, f.Close())
}

func (o *CreateOptions) print(k createdKey) {
	if k.Key == "" {
		from := "the given key"
		if o.KeyFile != "" {
			from = "the key in " + o.KeyFile
		}
		o.Console.Note("APIKey %s %s has the hash of %s. To see whether it is accepted: kubectl get apikey %s -n %s -o wide",
			k.Name, o.Place(), from, k.Name, k.Namespace)
		return
	}
	o.Console.Note("APIKey %s %s. The key is shown only this once; keep it as POSTFLIGHT_API_KEY in the secrets of your CI:",
		k.Name, o.Place())
	fmt.Fprintln(o.Console.Out, k.Key)
}

// readKey reads a line, without the line break of the shell. An interrupt ends it, even at a terminal.
func readKey(ctx context.Context, input io.Reader) (string, error) {
	var content []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		content, err = io.ReadAll(io.LimitReader(input, 8192))
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-read:
	}
	key := strings.TrimRight(string(content), "\r\n")
	if err == nil && key == "" {
		err = errors.New("the key on standard input is empty")
	}
	return key, err
}
