package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

type options struct {
	kubeconfig string

	bindAddress    string
	metricsAddress string
	metricsAuth    bool
	metricsTeams   int
	probeAddress   string
	publicURL      string
	podURL         string
	podCAFile      string
	podCA          string // PEM, from podCAFile
	pageHosts      []string
	agentActions   bool
	signInConfig   string
	signIn         *signin.Source // that follows the file
	tokenIssuers   string
	issuers        []issuer.Issuer // of that file

	holdBudget time.Duration
	drainDelay time.Duration
	logLevel   slog.Level

	podGoneAfter time.Duration

	leader    leaderOptions
	scope     scopeOptions
	tls       tlsOptions
	store     storeOptions
	codeHosts codeHostOptions
	webhooks  webhookOptions

	attestation attestationOptions
	clusters    clusterOptions
}

func newCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Answer deployment notifications and run the test suites of matching Triggers",
		Long: `The manager of Postflight. Every replica answers notifications over HTTP; one of them, the leader,
runs the Suites.

Inside a cluster it needs no flags. Outside, it uses the cluster of --kubeconfig or $KUBECONFIG.`,
		Example:       "  manager --kubeconfig ~/.kube/config --leader-elect=false --public-url http://localhost:8080",
		Version:       version.Get().String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: false,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), *o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.bindAddress, "bind-address", ":8080", "address of the HTTP API, host:port")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8081", "address of /metrics, host:port; 0 turns it off")
	f.BoolVar(&o.metricsAuth, "metrics-auth", true,
		"ask the API server who may read the metrics: those who may get the non-resource URL /metrics; the port then speaks HTTPS")
	f.IntVar(&o.metricsTeams, "metrics-teams", 50,
		"how many teams the metrics tell apart, from 0 to 1000: the first that send or run something; the others are together")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8082", "address of /healthz and /readyz, host:port")
	f.StringVar(&o.publicURL, "public-url", "",
		"URL under which people and CI reach the HTTP API and the run pages, for links; it may have a path")
	f.StringVar(&o.podURL, "pod-url", os.Getenv("POSTFLIGHT_POD_URL"),
		"URL under which pods reach the HTTP API, to upload what tests wrote; "+
			"default: $POSTFLIGHT_POD_URL, or the Service in the manager's namespace")
	f.StringVar(&o.podCAFile, "pod-ca-file", "",
		"PEM of the certificate authority of --pod-url, for pods, unless a public one signed its certificate")
	f.StringSliceVar(&o.pageHosts, "page-hosts", nil,
		"further host names under which people reach the run pages; by default that of --public-url, and any name without that")
	f.BoolVar(&o.agentActions, "agent-actions", false,
		"offer agents at /mcp also tools that repeat and cancel runs, to senders that may do this by the HTTP API")
	f.StringVar(&o.signInConfig, "sign-in-config", "",
		"file with the ways to sign in to the run pages without an API key: "+
			"an OpenID Connect provider or an authenticating proxy; "+
			"changes count within a second")
	f.StringVar(&o.tokenIssuers, "token-issuers", "",
		"file that lists the issuers of tokens that TrustPolicies may trust, such as CI systems; read at the start")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; default: $KUBECONFIG, or the cluster that the manager runs in")
	o.leader.addFlags(f)
	f.DurationVar(&o.holdBudget, "hold-budget", 45*time.Second,
		"how long a notification is retried while the API server is unavailable, before 503; below the clients' 60s")
	f.DurationVar(&o.drainDelay, "drain-delay", 5*time.Second, "how long to keep serving after readiness fails, until load balancers notice")
	f.DurationVar(&o.podGoneAfter, "pod-gone-after", suitecontroller.DefaultPodGoneAfter,
		"how long after its grace period to give up a pod that does not stop because its node is unreachable: its run ends as Error")
	o.scope.addFlags(f)
	o.tls.addFlags(f)
	o.store.addFlags(f)
	o.codeHosts.addFlags(f)
	o.webhooks.addFlags(f)
	o.attestation.addFlags(f)
	o.clusters.addFlags(f)
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR")
}

func (o *options) namespace() string {
	return cmp.Or(os.Getenv("POD_NAMESPACE"), o.leader.namespace)
}

func baseURL(flag string, text *string) error {
	if *text == "" {
		return nil
	}
	if err := publicurl.Check(*text); err != nil {
		return fmt.Errorf("%s %q: %w", flag, *text, err)
	}
	*text = publicurl.Join(*text, "")
	return nil
}

func (o *options) validate() error {
	var errs []error
	errs = append(errs, baseURL("--public-url", &o.publicURL), baseURL("--pod-url", &o.podURL))
	o.podURL = cmp.Or(o.podURL, o.tls.scheme()+"://postflight."+o.namespace()+".svc")
	errs = append(errs, o.loadSignIn(), o.loadIssuers(), o.loadPodCA(), o.scope.load())
	if o.holdBudget < time.Second || o.holdBudget > 55*time.Second {
		errs = append(errs, fmt.Errorf("--hold-budget %s: must be from 1s to 55s, because clients give up at 60s", o.holdBudget))
	}
	if o.drainDelay < 0 {
		errs = append(errs, fmt.Errorf("--drain-delay %s: must not be negative", o.drainDelay))
	}
	if o.metricsTeams < 0 || o.metricsTeams > 1000 {
		errs = append(errs, fmt.Errorf("--metrics-teams %d: must be from 0 to 1000", o.metricsTeams))
	}
	if o.podGoneAfter < time.Second {
		errs = append(errs, fmt.Errorf("--pod-gone-after %s: must be at least 1s", o.podGoneAfter))
	}
	return errors.Join(append(errs,
		o.leader.validate(), o.tls.validate(), o.store.validate(), o.codeHosts.validate(), o.webhooks.validate(),
		o.attestation.validate(o.store), o.clusters.validate())...)
}

func (o *options) loadSignIn() (err error) {
	if o.signIn, err = signin.NewSource(o.signInConfig, o.checkSignIn); err != nil {
		return fmt.Errorf("--sign-in-config: %w", err)
	}
	return nil
}

func (o *options) loadIssuers() (err error) {
	if o.tokenIssuers == "" {
		return nil
	}
	if o.issuers, err = issuer.Load(o.tokenIssuers); err != nil {
		return fmt.Errorf("--token-issuers: %w", err)
	}
	return nil
}

func (o *options) checkSignIn(c *signin.Config) error {
	if c.OIDC != nil && o.publicURL == "" {
		return errors.New("an OpenID Connect provider needs --public-url, to which it sends people back")
	}
	return nil
}

func (o *options) loadPodCA() error {
	if o.podCAFile == "" {
		return nil
	}
	ca, err := readCA("--pod-ca-file", o.podCAFile)
	o.podCA = string(ca)
	return err
}
