package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/propagation"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/apikey"
	"github.com/postflight-dev/postflight/internal/core/version"
)

// Server is how commands reach the HTTP API. There is no flag for the key: a command line is visible to
// everyone on the machine, and kept in logs.
type Server struct {
	cli.Output
	url      string
	patience time.Duration
	Client   *client.Client
}

func (s *Server) AddFlags(cmd *cobra.Command) {
	s.Output.AddFlags(cmd)
	s.AddOwnFlags(cmd)
}

func (s *Server) AddOwnFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "url", "", "base URL of the server; default: $POSTFLIGHT_URL")
	cmd.Flags().DurationVar(&s.patience, "patience", 2*time.Minute, "how long to retry while the server is unavailable or overloaded")
}

// Command returns the RunE of a command that talks to the server.
func (s *Server) Command(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return connected(s.Open, s.Connect, run)
}

func connected(
	open func(*cobra.Command) error, connect func() error, run func(context.Context, []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := open(cmd); err != nil {
			return err
		}
		if err := connect(); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

func (s *Server) Connect() error {
	address := cmp.Or(s.url, os.Getenv("POSTFLIGHT_URL"))
	if address == "" {
		return errors.New("no server is named: set POSTFLIGHT_URL, e.g. https://postflight.example.com, or pass --url")
	}
	key, err := APIKey(os.Getenv)
	if err != nil {
		return err
	}
	if TruncatedKey.MatchString(key) {
		s.Console.Note("Warning: the API key looks cut off: " +
			"a key that starts with pf_ and a namespace ends in 38 letters and digits. Copy it again.")
	}
	if InTheClear(address) && !allowsHTTP(os.Getenv) {
		s.Console.Note("Warning: the API key goes to %s over plain http, so that anyone on the way can read it. "+
			"Use https, or set POSTFLIGHT_ALLOW_HTTP=1 if you trust the network.", address)
	}
	s.Client, err = client.New(address, key, client.WithRetryTimeout(s.patience), client.WithUserAgent(version.UserAgent("postflight")),
		client.WithTrace(TraceContext(os.Getenv)), client.OnRetry(func(err error, pause time.Duration) { s.Console.Aside("%v Trying again in %s.", err, pause) }))
	return err
}

// TraceContext reads the trace of the pipeline, as W3C Trace Context. Both are empty if there is none, or if it is not valid.
func TraceContext(getenv func(string) string) (traceparent, tracestate string) {
	format := propagation.TraceContext{}
	ctx := format.Extract(context.Background(), propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")})
	valid := propagation.MapCarrier{}
	format.Inject(ctx, valid)
	return valid["traceparent"], valid["tracestate"]
}

// InTheClear reports whether requests to the server leave this machine without TLS.
func InTheClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}

// allowsHTTP reports whether the user trusts the network between here and the server.
func allowsHTTP(getenv func(string) string) bool {
	allowed, err := strconv.ParseBool(getenv("POSTFLIGHT_ALLOW_HTTP"))
	return err == nil && allowed
}

// TruncatedKey matches a key of ours without its end. It might still be a key from elsewhere.
var TruncatedKey = regexp.MustCompile(`^pf_[a-z0-9-]{1,63}_[0-9A-Za-z]{0,37}$`)

// APIKey reads the key from the environment, or from the file that the environment names.
func APIKey(getenv func(string) string) (string, error) {
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
		return "", errors.New("there is no API key: set POSTFLIGHT_API_KEY, from the secrets of your CI, " +
			"or POSTFLIGHT_API_KEY_FILE, a file with it; \"postflight keys create\" makes one")
	case apikey.Mistyped(key):
		return "", fmt.Errorf("the API key in %s was mistyped or cut: its checksum does not match. Copy it again, or make another one", from)
	}
	return key, nil
}
