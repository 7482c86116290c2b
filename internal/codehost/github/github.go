// Package github posts check runs with an App, and commit statuses with a token: GitHub lets only Apps write check runs.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v88/github"
	"k8s.io/utils/lru"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/outbound"
)

const maxClients = 1000 // clients of Apps that are kept, each with a token for one repository

// Host is github.com or a GitHub Enterprise Server.
type Host struct {
	url     string
	client  *http.Client
	clients *lru.Cache // of Apps: *gh.Client by credentials and repository
}

// New returns the host of a REST API, e.g. https://api.github.com or https://HOST/api/v3. The client must not follow redirects.
func New(apiURL string, client *http.Client) *Host {
	return &Host{url: strings.TrimRight(apiURL, "/") + "/", client: client, clients: lru.New(maxClients)}
}

// Post makes the host show a check, and returns what it shows. The error is a *report.Error.
func (h *Host) Post(ctx context.Context, r report.Request) (v1alpha1.SuiteReport, error) {
	return with(ctx, h, r, func(p poster) (v1alpha1.SuiteReport, error) {
		if r.Credentials.IsApp() {
			return p.checkRun(ctx)
		}
		return p.status(ctx)
	})
}

func with[T any](ctx context.Context, h *Host, r report.Request, send func(poster) (T, error)) (result T, err error) {
	client, err := h.clientFor(ctx, r)
	if err != nil {
		return result, explain(err, r)
	}
	owner, name, _ := strings.Cut(r.Repository, "/")
	if result, err = send(poster{client: client, owner: url.PathEscape(owner), name: url.PathEscape(name), Request: r}); err != nil {
		err = explain(err, r)
		h.forget(r, err)
	}
	return result, err
}

// forget drops the client of a refused App: its token or installation may have been replaced.
func (h *Host) forget(r report.Request, err error) {
	if failure := (*report.Error)(nil); errors.As(err, &failure) && failure.Kind == report.Rejected {
		h.clients.Remove(clientKey(r))
	}
}

func clientKey(r report.Request) string {
	return r.Credentials.Key() + commit.RepositoryKey(r.Repository)
}

type poster struct {
	report.Request
	client      *gh.Client
	owner, name string // escaped
}

func (h *Host) clientFor(ctx context.Context, r report.Request) (*gh.Client, error) {
	if !r.Credentials.IsApp() {
		return h.newClient(gh.WithAuthToken(r.Credentials.Token))
	}
	if known, ok := h.clients.Get(clientKey(r)); ok {
		return known.(*gh.Client), nil
	}
	client, err := h.clientOfApp(ctx, r)
	if err == nil {
		h.clients.Add(clientKey(r), client)
	}
	return client, err
}

func (h *Host) newClient(options ...gh.ClientOptionsFunc) (*gh.Client, error) {
	options = append([]gh.ClientOptionsFunc{
		gh.WithHTTPClient(h.client), gh.WithURLs(&h.url, nil), gh.WithUserAgent(version.UserAgent("postflight")),
		gh.WithDisableRateLimitCheck(), // report.Budget counts, across the clients of one credential
	}, options...)
	client, err := gh.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("create a client of GitHub: %w", err)
	}
	return client, nil
}

// clientOfApp has a token that is restricted to the repository.
func (h *Host) clientOfApp(ctx context.Context, r report.Request) (*gh.Client, error) {
	c := r.Credentials
	app, err := h.app(c)
	if err != nil {
		return nil, err
	}
	owner, name, _ := strings.Cut(r.Repository, "/")
	id := c.InstallationID
	if id == 0 {
		if id, err = h.installationOf(ctx, app, owner, name); err != nil {
			return nil, err
		}
	}
	installation := ghinstallation.NewFromAppsTransport(app, id)
	installation.InstallationTokenOptions = &gh.InstallationTokenOptions{Repositories: []string{name}}
	return h.newClient(gh.WithTransport(installation))
}

// app acts as the App itself, not as one of its installations.
func (h *Host) app(c report.Credentials) (*ghinstallation.AppsTransport, error) {
	app, err := ghinstallation.NewAppsTransport(h.client.Transport, c.AppID, c.PrivateKey)
	if err != nil {
		return nil, &report.Error{
			Kind: report.Rejected, Message: "the private key of the GitHub App cannot be read; it must be an RSA key as PEM",
		}
	}
	app.BaseURL = strings.TrimRight(h.url, "/")
	return app, nil
}

func (h *Host) installationOf(ctx context.Context, app *ghinstallation.AppsTransport, owner, name string) (int64, error) {
	client, err := h.newClient(gh.WithTransport(app))
	if err != nil {
		return 0, err
	}
	installation, _, err := client.Apps.GetRepositoryInstallation(ctx, url.PathEscape(owner), url.PathEscape(name))
	return installation.GetID(), err
}

const secondaryWait = time.Minute // if GitHub does not say how long to wait after its secondary limit

func explain(err error, r report.Request) error {
	var (
		own       *report.Error
		primary   *gh.RateLimitError
		secondary *gh.AbuseRateLimitError
		redirect  *gh.RedirectionError
		answer    *gh.ErrorResponse
		token     *ghinstallation.HTTPError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &primary):
		return limited("GitHub's rate limit is used up", time.Until(primary.Rate.Reset.Time))
	case errors.As(err, &secondary):
		wait := secondaryWait
		if secondary.RetryAfter != nil {
			wait = *secondary.RetryAfter
		}
		return limited("GitHub's secondary rate limit is used up", wait)
	case errors.As(err, &redirect):
		return &report.Error{Kind: report.Rejected, Message: fmt.Sprintf(
			"GitHub redirects requests for %s, and Postflight follows no redirect; if it was renamed, change spec.repository.name of the Trigger",
			r.Repository)}
	case errors.As(err, &answer):
		return report.ErrorOf("GitHub", r, answer.Response.StatusCode, answer.Response.Header, answer.Message)
	case errors.As(err, &token) && token.Response != nil:
		outbound.Drain(token.Response.Body)
		return report.ErrorOf("GitHub", r, token.Response.StatusCode, token.Response.Header, http.StatusText(token.Response.StatusCode))
	default:
		return report.NoAnswer("GitHub", err)
	}
}

// limited is bounded, because the clocks of a server and of this machine may differ by years.
func limited(message string, wait time.Duration) *report.Error {
	return &report.Error{Kind: report.Limited, Message: message, RetryAfter: min(wait, report.MaxRetryAfter)}
}
