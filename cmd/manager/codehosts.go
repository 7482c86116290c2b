package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/pflag"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/serverurl"
	"github.com/postflight-dev/postflight/internal/outbound"
)

var defaultGitHubURL, defaultGitLabURL = codehost.Of(v1alpha1.GitHub).URL, codehost.Of(v1alpha1.GitLab).URL

// No request goes to another host, whatever a notification says.
type codeHostOptions struct {
	clusterName string

	gitHubURL               string
	gitHubAppID             int64
	gitHubAppKey            string
	gitHubTokenFile         string
	gitHubWebhookSecretFile string

	gitLabURL       string
	gitLabTokenFile string
}

func (o *codeHostOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.clusterName, "cluster-name", "", "begins the names of checks, if several clusters post to the same repositories")
	f.StringVar(&o.gitHubURL, "github-url", defaultGitHubURL, "URL of GitHub's REST API; of a GitHub Enterprise Server, https://HOST/api/v3")
	f.Int64Var(&o.gitHubAppID, "github-app-id", 0,
		"GitHub App of the manager itself, for Triggers without credentials whose Team lists the repository")
	f.StringVar(&o.gitHubAppKey, "github-app-key-file", "", "PEM of its private key; read again for each check")
	f.StringVar(&o.gitHubWebhookSecretFile, "github-webhook-secret-file", "",
		"file with the secret of the webhook of a GitHub App, whose events then start runs of the teams that list the repository; "+
			"read again for each event")
	f.StringVar(&o.gitHubTokenFile, "github-token-file", "", "file with a token, instead of an App: commit statuses, no check runs")
	f.StringVar(&o.gitLabURL, "gitlab-url", defaultGitLabURL, "URL of GitLab")
	f.StringVar(&o.gitLabTokenFile, "gitlab-token-file", "", "file with a token of the manager itself; read again for each check")
}

// clusterName is a DNS label, like the other parts of the names of checks.
var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// validate also reads the files, so that a wrong path fails at once.
func (o *codeHostOptions) validate() error {
	var errs []error
	if o.clusterName != "" && !clusterName.MatchString(o.clusterName) {
		errs = append(errs, fmt.Errorf("--cluster-name %q: must be at most 63 of a-z, 0-9 and '-'", o.clusterName))
	}
	for flag, url := range map[string]string{"--github-url": o.gitHubURL, "--gitlab-url": o.gitLabURL} {
		if err := serverurl.Check(url, "credentials are sent there"); url != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", flag, url, err))
		}
	}
	if (o.gitHubAppID != 0) != (o.gitHubAppKey != "") {
		errs = append(errs, errors.New("--github-app-id and --github-app-key-file: set both, or neither"))
	}
	if o.gitHubAppID != 0 && o.gitHubTokenFile != "" {
		errs = append(errs, errors.New("--github-app-id and --github-token-file: set one of them; an App can do more"))
	}
	name := report.HostOf(v1alpha1.GitHub, o.gitHubURL)
	sameHost := name != "" && name == report.HostOf(v1alpha1.GitLab, o.gitLabURL)
	if sameHost && o.ownGitHub() != nil && o.ownGitLab() != nil {
		errs = append(errs, fmt.Errorf("--github-url and --gitlab-url: both are on the host %s, so that entries of Teams would mean both; "+
			"give the manager credentials for one of them", name))
	}
	if o.gitHubWebhookSecretFile != "" {
		_, err := o.webhookSecret()
		errs = append(errs, err)
	}
	for _, own := range []func() (report.Credentials, error){o.ownGitHub(), o.ownGitLab()} {
		if own != nil {
			_, err := own()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (o *codeHostOptions) ownGitHub() func() (report.Credentials, error) {
	if o.gitHubAppID == 0 {
		return fromTokenFile("--github-token-file", o.gitHubTokenFile)
	}
	return func() (report.Credentials, error) {
		key, err := os.ReadFile(o.gitHubAppKey)
		if err != nil {
			return report.Credentials{}, fmt.Errorf("--github-app-key-file: %w", err)
		}
		return report.Credentials{AppID: o.gitHubAppID, PrivateKey: key}, nil
	}
}

func (o *codeHostOptions) webhookSecret() ([]byte, error) {
	text, err := os.ReadFile(o.gitHubWebhookSecretFile)
	if err != nil {
		return nil, fmt.Errorf("--github-webhook-secret-file: %w", err)
	}
	if problem := event.SecretProblem(text); problem != "" {
		return nil, fmt.Errorf("--github-webhook-secret-file: the secret %s", problem)
	}
	return text, nil
}

func (o *codeHostOptions) ownGitLab() func() (report.Credentials, error) {
	return fromTokenFile("--gitlab-token-file", o.gitLabTokenFile)
}

func fromTokenFile(flag, file string) func() (report.Credentials, error) {
	if file == "" {
		return nil
	}
	return func() (report.Credentials, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return report.Credentials{}, fmt.Errorf("%s: %w", flag, err)
		}
		c, problem := report.ParseToken(text)
		if problem != "" {
			return c, fmt.Errorf("%s: %s", flag, problem)
		}
		return c, nil
	}
}

// sites are where people find repositories.
func (o *codeHostOptions) sites() codehost.Sites {
	return codehost.Sites{
		v1alpha1.GitHub: codehost.SiteOf(v1alpha1.GitHub, cmp.Or(o.gitHubURL, defaultGitHubURL)),
		v1alpha1.GitLab: codehost.SiteOf(v1alpha1.GitLab, cmp.Or(o.gitLabURL, defaultGitLabURL)),
	}
}

// gitHubHost is the host of the manager's own GitHub, as Teams name it.
func (o *codeHostOptions) gitHubHost() string {
	return report.HostOf(v1alpha1.GitHub, cmp.Or(o.gitHubURL, defaultGitHubURL))
}

// config connects the code hosts. The defaults of the flags are for options that tests make without them.
func (o *codeHostOptions) config(publicURL string) reportcontroller.Config {
	client := outbound.New()
	gitHubURL, gitLabURL := cmp.Or(o.gitHubURL, defaultGitHubURL), cmp.Or(o.gitLabURL, defaultGitLabURL)
	return reportcontroller.Config{
		Options: report.Options{PublicURL: publicURL, ClusterName: o.clusterName},
		Hosts: map[v1alpha1.HostingService]reportcontroller.CodeHostConfig{
			v1alpha1.GitHub: {
				CodeHost: github.New(gitHubURL, client), Name: o.gitHubHost(),
				Limits: report.LimitsOf(v1alpha1.GitHub), Own: o.ownGitHub(),
			},
			v1alpha1.GitLab: {
				CodeHost: gitlab.New(gitLabURL, client), Name: report.HostOf(v1alpha1.GitLab, gitLabURL),
				Limits: report.LimitsOf(v1alpha1.GitLab), Own: o.ownGitLab(),
			},
		},
	}
}
