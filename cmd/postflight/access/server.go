package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/propagation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/credential"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

// Server is how commands reach the HTTP API. There is no flag for a key or a token: a command line is visible to
// everyone on the machine, and kept in logs.
type Server struct {
	cli.Output
	url      string
	team     string
	patience time.Duration
	Client   *client.Client
	Sender   *credential.Credential
}

func (s *Server) AddFlags(cmd *cobra.Command) {
	s.Output.AddFlags(cmd)
	s.AddOwnFlags(cmd)
}

func (s *Server) AddOwnFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "url", "", "base URL of the server; default: $POSTFLIGHT_URL")
	cmd.Flags().StringVar(&s.team, "team", "",
		"name of the Team, or TEAM/TRUSTPOLICY, for a token that does not say whose it is; default: $POSTFLIGHT_TEAM")
	cli.DurationVar(cmd.Flags(), &s.patience, "patience", 2*time.Minute, "how long to retry while the server is unavailable or overloaded")
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
	machine := credential.ThisMachine()
	sender, err := machine.Find()
	if err != nil {
		return err
	}
	if err := s.checkTransport(machine, sender, address); err != nil {
		return err
	}
	team := cmp.Or(s.team, os.Getenv("POSTFLIGHT_TEAM"))
	if team != "" && !namesTeam(team) {
		return errors.New("POSTFLIGHT_TEAM is not the name of a Team, nor TEAM/TRUSTPOLICY; nor is --team, which wins over it")
	}
	s.Sender = sender
	s.Client, err = client.New(address, "", client.WithTokens(sender.TokenSource), client.WithTeam(team), client.WithRetryTimeout(s.patience),
		client.WithUserAgent(version.UserAgent("postflight")), client.WithTrace(traceContext(os.Getenv)),
		client.OnRetry(func(err error, pause time.Duration) { s.Console.Aside("%v Trying again in %s.", err, pause) }))
	return err
}

// TeamName is the name of the Team that was named; empty: none was.
func (s *Server) TeamName() string {
	name, _, _ := strings.Cut(cmp.Or(s.team, os.Getenv("POSTFLIGHT_TEAM")), "/")
	return name
}

// whoAmI connects, and asks as whom the server knows the sender.
func (s *Server) whoAmI(ctx context.Context) (*client.WhoAmI, error) {
	if err := s.Connect(); err != nil {
		return nil, err
	}
	return s.Client.WhoAmI(ctx)
}

// namesTeam reports whether the text is the name of a Team, or that and the name of one of its TrustPolicies.
func namesTeam(text string) bool {
	team, policy, both := strings.Cut(text, "/")
	return len(validation.IsDNS1123Subdomain(team)) == 0 && (!both || len(validation.IsDNS1123Subdomain(policy)) == 0)
}

// checkTransport warns about a key that looks wrong, or that anyone on the way can read, because pipelines depend on such keys. It refuses
// to send a token in the clear.
func (s *Server) checkTransport(machine credential.Machine, sender *credential.Credential, address string) error {
	inTheClear := credential.InTheClear(address) && !machine.AllowsHTTP()
	switch {
	case !sender.Key && inTheClear:
		return fmt.Errorf("%s would go to %s over plain http, so that anyone on the way can read it. "+
			"Use https, or set POSTFLIGHT_ALLOW_HTTP=1 if you trust the network", sender.From, address)
	case !sender.Key:
		return nil
	}
	if key, err := sender.Token(context.Background(), ""); err == nil && truncatedKey.MatchString(key) {
		s.Console.Note("Warning: the API key looks cut off: " +
			"a key that starts with pf_ and a namespace ends in 38 letters and digits. Copy it again.")
	}
	if inTheClear {
		s.Console.Note("Warning: the API key goes to %s over plain http, so that anyone on the way can read it. "+
			"Use https, or set POSTFLIGHT_ALLOW_HTTP=1 if you trust the network.", address)
	}
	return nil
}

// traceContext reads the trace of the pipeline, as W3C Trace Context. Both are empty if there is none, or if it is not valid.
func traceContext(getenv func(string) string) (traceparent, tracestate string) {
	format := propagation.TraceContext{}
	given := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	ctx := format.Extract(context.Background(), given)
	valid := propagation.MapCarrier{}
	format.Inject(ctx, valid)
	return valid["traceparent"], valid["tracestate"]
}

// truncatedKey matches a key of ours without its end. It might still be a key from elsewhere.
var truncatedKey = regexp.MustCompile(`^pf_[a-z0-9-]{1,63}_[0-9A-Za-z]{0,37}$`)
