package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/apikey"
	"github.com/postflight-dev/postflight/internal/cli"
)

// output is the flag that every command has.
type output struct{ format string }

func (o *output) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json prints the result as JSON on standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) console(cmd *cobra.Command) (*cli.Console, error) {
	if o.format != "" && o.format != "json" {
		return nil, fmt.Errorf("-o %q: the only format is json", o.format)
	}
	console := cli.NewConsole(cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Getenv)
	console.JSON = o.format == "json"
	return console, nil
}

// connection is how commands reach the HTTP API. There is no flag for the key: a command line is
// seen by everyone on the machine, and kept in logs.
type connection struct {
	output
	url      string
	patience time.Duration
}

func (c *connection) addFlags(cmd *cobra.Command) {
	c.output.addFlags(cmd)
	cmd.Flags().StringVar(&c.url, "url", "", "base URL of the server; default: $POSTFLIGHT_URL")
	cmd.Flags().DurationVar(&c.patience, "patience", 2*time.Minute, "how long to try again while the server is away or overloaded")
}

func (c *connection) connect(cmd *cobra.Command) (*client.Connection, *cli.Console, error) {
	console, err := c.console(cmd)
	if err != nil {
		return nil, nil, err
	}
	address, key := cmp.Or(c.url, os.Getenv("POSTFLIGHT_URL")), os.Getenv("POSTFLIGHT_API_KEY")
	switch {
	case address == "":
		return nil, nil, errors.New("no server is named: set POSTFLIGHT_URL, e.g. https://postflight.example.com, or pass --url")
	case key == "":
		return nil, nil, errors.New("there is no API key: set POSTFLIGHT_API_KEY, from the secrets of your CI; \"postflight keys create\" makes one")
	case apikey.Mistyped(key):
		return nil, nil, errors.New("the API key in POSTFLIGHT_API_KEY was mistyped or cut: its checksum does not fit. Copy it again, or make another one")
	}
	conn, err := client.Connect(address, key, client.Patience(c.patience), client.UserAgent("postflight/"+version()),
		client.Notice(func(err error, pause time.Duration) {
			if !console.Live { // where lines are redrawn, only the end matters
				console.Note("%v Trying again in %s.", err, pause)
			}
		}))
	return conn, console, err
}

// gates marks a command whose exit code a pipeline goes by: whatever else goes wrong is trouble, and
// never looks like a run that failed.
func gates(cmd *cobra.Command) *cobra.Command {
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, a []string) error {
		if args == nil {
			return nil
		}
		return cli.Trouble(args(cmd, a))
	}
	cmd.RunE = func(cmd *cobra.Command, a []string) error { return cli.Trouble(run(cmd, a)) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Trouble(fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath()))
	})
	return cmd
}

const exitCodes = `Exit codes: 0 every run passed, 1 a run did not pass, 2 a run was canceled or superseded,
3 trouble: no run, no server, no key, no time left.`
