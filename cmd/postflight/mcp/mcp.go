// Package mcp has the command that gives agents tools.
package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/mcp"
)

type options struct {
	access.Server
	actions bool
}

// New returns the command.
func New() *cobra.Command {
	o := &options{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "mcp",
		Short: "Give a coding agent tools to ask Postflight (MCP)",
		Long: `Speaks the Model Context Protocol on standard input and output, for agents that start it: why a run failed, since when a test fails
and which deployment broke it, logs, what is deployed, verdicts, and why a Trigger started nothing. Run it from the configuration of an
agent, and not by hand. It ends when its input ends.

It asks the server of $POSTFLIGHT_URL with what "postflight whoami --help" says, and may do no more than that. Its tools only read, unless
--allow-actions also offers those that repeat and cancel runs.

Agents that reach the server can also connect to https://SERVER/mcp with the API key as a bearer token.`,
		Example: `  # Configuration of an agent
  {"mcpServers": {"postflight": {"command": "postflight", "args": ["mcp"],
    "env": {"POSTFLIGHT_URL": "https://postflight.example.com", "POSTFLIGHT_API_KEY_FILE": "/home/me/.postflight-key"}}}}`,
		Args: cobra.NoArgs,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.ExitTroubleError(o.Command(func(ctx context.Context, _ []string) error {
			return o.serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
		})(cmd, args))
	}
	cmd.Flags().BoolVar(&o.actions, "allow-actions", false, "also offer tools that repeat and cancel runs")
	o.AddOwnFlags(cmd)
	return cmd
}

func (o *options) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	connect := func(http.Header) (*client.Client, error) { return o.Client, nil }
	err := mcp.New(connect, mcp.Options{Actions: o.actions}).Serve(ctx, io.NopCloser(in), ending{out})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ending is an output that stays open.
type ending struct{ io.Writer }

func (ending) Close() error { return nil }
