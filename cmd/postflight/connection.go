package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
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
		return nil, cli.Trouble(fmt.Errorf("-o %q: the only format is json", o.format))
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

func (c *connection) connect(cmd *cobra.Command) (*client.Client, *cli.Console, error) {
	console, err := c.console(cmd)
	if err != nil {
		return nil, nil, err
	}
	address := cmp.Or(c.url, os.Getenv("POSTFLIGHT_URL"))
	if address == "" {
		return nil, nil, errors.New("no server is named: set POSTFLIGHT_URL, e.g. https://postflight.example.com, or pass --url")
	}
	key, err := apiKey(os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	if inTheClear(address) && !allowsHTTP(os.Getenv) {
		console.Note("Warning: the API key goes to %s over plain http, and whoever is on the way can read it. "+
			"Use https, or set POSTFLIGHT_ALLOW_HTTP=1 if you trust the network.", address)
	}
	conn, err := client.New(address, key, client.WithRetryTimeout(c.patience), client.WithUserAgent("postflight/"+version()),
		client.OnRetry(func(err error, pause time.Duration) {
			console.Aside("%v Trying again in %s.", err, pause)
		}))
	return conn, console, err
}

// inTheClear reports whether what is sent to the server leaves this machine without TLS.
func inTheClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}

// allowsHTTP reports whether somebody said that the network between here and the server is trusted.
func allowsHTTP(getenv func(string) string) bool {
	allowed, err := strconv.ParseBool(getenv("POSTFLIGHT_ALLOW_HTTP"))
	return err == nil && allowed
}

// apiKey is the key of the environment, or of the file that the environment names.
func apiKey(getenv func(string) string) (string, error) {
	key, from := getenv("POSTFLIGHT_API_KEY"), "POSTFLIGHT_API_KEY"
	if path := getenv("POSTFLIGHT_API_KEY_FILE"); key == "" && path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("the API key in POSTFLIGHT_API_KEY_FILE: %w", err)
		}
		key, from = string(content), path
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", errors.New("there is no API key: set POSTFLIGHT_API_KEY, from the secrets of your CI, or POSTFLIGHT_API_KEY_FILE, a file with it; \"postflight keys create\" makes one")
	case apikey.Mistyped(key):
		return "", fmt.Errorf("the API key in %s was mistyped or cut: its checksum does not fit. Copy it again, or make another one", from)
	}
	return key, nil
}

// gates marks a command whose exit code a pipeline goes by: whatever else goes wrong is trouble, and
// never looks like a run that failed.
func gates(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, a []string) error { return cli.Trouble(run(cmd, a)) }
	return cmd
}

const exitCodes = `Exit codes: 0 every run passed, 1 a run did not pass, 2 a run was canceled or superseded,
3 trouble: no run, no server, no key, no time left.`
