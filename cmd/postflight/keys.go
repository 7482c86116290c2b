package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke the API keys of a team, through the kubeconfig",
	}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysRevoke())
	return cmd
}

func withKeys(k *kube, run func(cmd *cobra.Command, keys *cli.Keys, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cluster, console, err := k.connect(cmd)
		if err != nil {
			return err
		}
		return run(cmd, &cli.Keys{Cluster: cluster, Console: console, Now: time.Now}, args)
	}
}

func newKeysCreate() *cobra.Command {
	var (
		k       kube
		n       cli.NewKey
		expires string
		stdin   bool
	)
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an API key, and print it once",
		Long: `Makes an API key for the team that owns the namespace, and prints it on standard output. The cluster
stores only its hash: a key that is lost cannot be shown again, only replaced.

Keys start with pf_ and their namespace, where alone they are accepted, and end in a checksum, so that
secret scanners recognise them. A team that migrates keeps the keys it has: --from-stdin takes one over,
whatever its form.`,
		Example: `  postflight keys create github -n acme --description "GitHub Actions of acme/shop" --expires 90d

  # Straight into the secrets of a repository
  postflight keys create github -n acme | gh secret set POSTFLIGHT_API_KEY

  # Keep the key that the pipelines have already
  printf %s "$OLD_KEY" | postflight keys create legacy -n acme --from-stdin`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			n.Name = args[0]
			n.Expires, err = parseDays(expires)
			return err
		},
		RunE: withKeys(&k, func(cmd *cobra.Command, keys *cli.Keys, _ []string) (err error) {
			if stdin {
				if n.Existing, err = readKey(cmd.Context(), cmd.InOrStdin()); err != nil {
					return err
				}
			}
			return keys.Create(cmd.Context(), n)
		}),
	}
	cmd.Flags().StringVar(&n.Description, "description", "", "who uses the key")
	cmd.Flags().StringVar(&expires, "expires", "", "when it stops to work, e.g. 90d or 12h; default: never")
	cmd.Flags().BoolVar(&stdin, "from-stdin", false, "take over the key on standard input")
	k.addFlags(cmd)
	return cmd
}

func newKeysList() *cobra.Command {
	var k kube
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the API keys of a namespace, and when they were last used",
		Example: "  postflight keys list -n acme",
		Args:    cobra.NoArgs,
		RunE:    withKeys(&k, func(cmd *cobra.Command, keys *cli.Keys, _ []string) error { return keys.List(cmd.Context()) }),
	}
	k.addFlags(cmd)
	return cmd
}

func newKeysRevoke() *cobra.Command {
	var (
		k       kube
		suspend bool
	)
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "End an API key at once",
		Example: `  postflight keys revoke github -n acme

  # Only for now: kubectl patch apikey github --type merge -p '{"spec":{"suspended":false}}' takes it back
  postflight keys revoke github -n acme --suspend`,
		Args: cobra.ExactArgs(1),
		RunE: withKeys(&k, func(cmd *cobra.Command, keys *cli.Keys, args []string) error {
			return keys.Revoke(cmd.Context(), args[0], suspend)
		}),
	}
	cmd.Flags().BoolVar(&suspend, "suspend", false, "keep the object, so that it can be taken back")
	k.addFlags(cmd)
	return cmd
}

// parseDays reads a duration that may be in days.
func parseDays(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("--expires %q: write it like 90d or 12h", text)
}

// readKey reads a line: the shell adds its end. A terminal is not waited for after an interrupt.
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
