// Package client is a client of Postflight's HTTP API.
//
//	c, err := client.Connect("https://postflight.example.com", os.Getenv("POSTFLIGHT_API_KEY"))
//	result, err := c.Notify(ctx, client.Notification{Branch: new("main"), Sha: &sha})
//	answer, err := c.Await(ctx, *result.Results[0].CreatedSuiteID)
//
// The types, and the methods of Client, are generated from the OpenAPI document of the server
// (zz_generated.client.go). Connection, by hand, adds the key, errors that say what to do, and
// retries: a notification that is sent again never makes a second run.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postflight-dev/postflight/internal/sleep"
)

// requestTimeout bounds one request: longer than the server holds a notification or a waiting client.
const requestTimeout = 90 * time.Second

// Connection is a server and a key.
type Connection struct {
	api      *ClientWithResponses
	baseURL  string
	patience time.Duration
	notice   func(error, time.Duration)
	hold     atomic.Int64 // how long a request may wait, in nanoseconds
}

// Option changes a Connection.
type Option func(*settings)

type settings struct {
	http      *http.Client
	userAgent string
	patience  time.Duration
	notice    func(error, time.Duration)
}

// UseHTTPClient replaces the HTTP client, which should not have a timeout below 60 s.
func UseHTTPClient(c *http.Client) Option { return func(s *settings) { s.http = c } }

// UserAgent names the program in the server's logs.
func UserAgent(name string) Option { return func(s *settings) { s.userAgent = name } }

// Patience is how long a request is repeated while the server cannot be reached or is
// overloaded; 2 minutes by default, and 0 for not at all.
func Patience(d time.Duration) Option { return func(s *settings) { s.patience = d } }

// Notice is told of each failure that is followed by another attempt, and of the pause before it.
func Notice(notice func(err error, pause time.Duration)) Option {
	return func(s *settings) { s.notice = notice }
}

// Connect makes a Connection; nothing is sent yet.
func Connect(baseURL, key string, options ...Option) (*Connection, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a server: it has to start with http:// or https:// and a host", baseURL)
	}
	if base.User != nil {
		return nil, errors.New("the URL of the server holds a user name; the key belongs elsewhere")
	}
	s := settings{http: &http.Client{Timeout: requestTimeout}, userAgent: "postflight-go", patience: 2 * time.Minute}
	for _, option := range options {
		option(&s)
	}
	s.http = withoutRedirects(s.http)
	editor := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
		r.Header.Set("User-Agent", s.userAgent)
		return nil
	}
	baseURL = strings.TrimRight(baseURL, "/")
	api, err := NewClientWithResponses(baseURL, WithHTTPClient(s.http), WithRequestEditorFn(editor))
	if err != nil {
		return nil, err
	}
	c := &Connection{api: api, baseURL: baseURL, patience: s.patience, notice: s.notice}
	c.hold.Store(int64(MaxWait))
	return c, nil
}

// withoutRedirects makes a wrong base URL an error: a notification that is redirected becomes a GET.
func withoutRedirects(c *http.Client) *http.Client {
	copied := *c
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &copied
}

// Notify reports a deployment. All attempts of the call have one Idempotency-Key, so that one which comes late
// neither starts a second run nor supersedes a newer deployment.
func (c *Connection) Notify(ctx context.Context, n Notification) (*NotificationResult, error) {
	return c.deploySuccess(ctx, &DeploySuccessParams{IdempotencyKey: new(rand.Text())}, n)
}

// Explain asks what Notify would do, and why, without doing it.
func (c *Connection) Explain(ctx context.Context, n Notification) (*NotificationResult, error) {
	return c.deploySuccess(ctx, &DeploySuccessParams{DryRun: new(true)}, n)
}

func (c *Connection) deploySuccess(ctx context.Context, params *DeploySuccessParams, n Notification) (*NotificationResult, error) {
	var result *NotificationResult
	err := c.retry(ctx, func() error {
		resp, err := c.api.DeploySuccessWithResponse(ctx, params, n)
		if err != nil {
			return unreachable(err)
		}
		result = resp.JSON200
		return check(resp.HTTPResponse, resp.Body, result != nil)
	})
	return result, err
}

// SignUpload asks for a URL to which a file may be PUT.
func (c *Connection) SignUpload(ctx context.Context, path string) (*SignedURL, error) {
	var signed *SignedURL
	err := c.retry(ctx, func() error {
		resp, err := c.api.SignUploadWithResponse(ctx, &SignUploadParams{File: path})
		if err != nil {
			return unreachable(err)
		}
		signed = resp.JSON200
		return check(resp.HTTPResponse, resp.Body, signed != nil)
	})
	return signed, err
}

// retry repeats what failed for reasons that pass, until it succeeds or the patience is used up.
func (c *Connection) retry(ctx context.Context, attempt func() error) error {
	deadline := time.Now().Add(c.patience)
	for wait := time.Second; ; wait = min(2*wait, 15*time.Second) {
		err := attempt()
		var failed *Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || !failed.Temporary() {
			return err
		}
		next := max(wait, failed.RetryAfter)
		if time.Now().Add(next).After(deadline) {
			return err
		}
		if c.notice != nil {
			c.notice(err, next)
		}
		if err := sleep.For(ctx, next); err != nil {
			return err
		}
	}
}
