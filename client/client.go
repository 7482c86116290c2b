// Package client is a client of Postflight's HTTP API.
//
//	c, err := client.New("https://postflight.example.com", os.Getenv("POSTFLIGHT_API_KEY"))
//	result, err := c.Notify(ctx, client.Notification{Branch: "main", SHA: sha})
//	answer, err := c.Await(ctx, result.Results[0].RunID())
//	for artifact, err := range c.Artifacts(ctx, answer.RelevantRunID, "") { ... }
//
// A token source, which may read the token of a pod, takes the place of the key: see WithTokens.
//
// Its errors say what to do. It retries while the server is unavailable or overloaded. No repeated request starts a second run.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/transfer"
)

type (
	// Notification says what was deployed.
	Notification = httpapi.Notification
	// NotificationResult answers a Notification.
	NotificationResult = httpapi.NotificationResult
	// Result is what came of one Trigger.
	Result = httpapi.Result
	// Greenlight says whether a pipeline may continue.
	Greenlight = httpapi.Greenlight
	// Verdict says whether a commit may leave an Environment.
	Verdict = httpapi.Verdict
	// StartedVerdict is a verdict after what it lacks was started.
	StartedVerdict = httpapi.StartedVerdict
	// SignedURL is where to PUT a file.
	SignedURL = httpapi.SignedURL
	// Replay is a page of what changed Triggers would match.
	Replay = httpapi.Replay
	// ReplayedTrigger counts the notifications of a replay.
	ReplayedTrigger = httpapi.ReplayedTrigger
	// ReplayChange is a notification that a changed Trigger treats differently.
	ReplayChange = httpapi.ReplayChange
	// Run is a run, which may have ended long ago.
	Run = httpapi.Run
	// TestResults count the tests of a run.
	TestResults = httpapi.TestResults
	// TestFailure is a test that failed.
	TestFailure = httpapi.TestFailure
	// Failure says why a run ended as it did, and what to do.
	Failure = httpapi.Failure
	// FailureTests are the tests of a run that failed, with what is known of them.
	FailureTests = httpapi.FailureTests
	// FailedTest is a test of FailureTests.
	FailedTest = httpapi.FailedTest
	// FailingSince says since when a test fails.
	FailingSince = httpapi.FailingSince
	// Changed is what was deployed since the last green run.
	Changed = httpapi.Changed
	// RunResults are the tests of a run, with what their reports say of each failure.
	RunResults = httpapi.RunResults
	// Artifacts sum up the files of a run.
	Artifacts = httpapi.Artifacts
	// UnderTest is what the Environment of a run had while its tests ran.
	UnderTest = httpapi.UnderTest
	// TestedWorkload is an object that ran in the Environment.
	TestedWorkload = httpapi.TestedWorkload
	// WorkloadVersion is what an object ran at a time.
	WorkloadVersion = httpapi.WorkloadVersion
	// ArchiveState says whether a run outlives its Suite.
	ArchiveState = httpapi.ArchiveState
	// Artifact is a file that the tests of a run wrote.
	Artifact = httpapi.Artifact
	// EnvironmentStatus is an Environment with what is deployed there.
	EnvironmentStatus = httpapi.EnvironmentStatus
	// DeploymentHistory is what an Environment had, newest first.
	DeploymentHistory = httpapi.DeploymentHistory
	// Deployed is what an Environment has of a repository.
	Deployed = httpapi.Deployed
	// DeployedWorkload is an object of the cluster that runs in an Environment.
	DeployedWorkload = httpapi.DeployedWorkload
	// Termination names an ephemeral environment that is gone.
	Termination = httpapi.Termination
	// TerminationResult answers a Termination.
	TerminationResult = httpapi.TerminationResult
	// Problem is the body of an error.
	Problem = httpapi.Problem
)

// requestTimeout bounds one request: longer than the server holds a notification or a waiting client.
const requestTimeout = 90 * time.Second

// Client sends requests to one server, for one sender. It is safe for concurrent use.
type Client struct {
	http         *http.Client
	baseURL      string
	tokens       TokenSource
	waits        waits
	header       http.Header // of all requests, without the token
	trace        http.Header // of requests that start runs
	retryTimeout time.Duration
	onRetry      func(error, time.Duration)
	maxWait      atomic.Int64 // how long a request may wait, in nanoseconds
}

// Option changes a Client.
type Option func(*Client)

// WithHTTPClient replaces the HTTP client, which should not have a timeout below 60 s.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent names the program in the server's logs.
func WithUserAgent(name string) Option { return func(c *Client) { c.header.Set("User-Agent", name) } }

// WithTrace makes the runs that the client starts part of a W3C trace. Other requests would only fill it. Empty headers are not sent.
func WithTrace(traceparent, tracestate string) Option {
	return func(c *Client) {
		for name, value := range map[string]string{"Traceparent": traceparent, "Tracestate": tracestate} {
			if value != "" {
				c.trace.Set(name, value)
			}
		}
	}
}

// WithRetryTimeout says how long to retry while the server is unavailable or overloaded: 2 minutes by default, 0 never.
func WithRetryTimeout(d time.Duration) Option { return func(c *Client) { c.retryTimeout = d } }

// OnRetry calls a function before each pause that precedes another attempt.
func OnRetry(f func(err error, pause time.Duration)) Option { return func(c *Client) { c.onRetry = f } }

// New returns a Client of the server at the URL, with an API key unless there is an option WithTokens. It sends nothing yet.
func New(baseURL, key string, options ...Option) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a server: it has to start with http:// or https:// and a host", baseURL)
	}
	if base.User != nil {
		return nil, errors.New("the URL of the server must not contain a user name: the API key or the token identifies you")
	}
	c := &Client{
		http: &http.Client{Timeout: requestTimeout}, baseURL: baseURL, retryTimeout: 2 * time.Minute,
		tokens:  fixed(strings.TrimSpace(key)),
		header:  http.Header{"User-Agent": {"postflight-go"}},
		trace:   http.Header{},
		onRetry: func(error, time.Duration) {},
	}
	for _, option := range options {
		option(c)
	}
	// A redirect means that the base URL is wrong: a redirected notification becomes a GET.
	h := *c.http
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &h
	c.maxWait.Store(int64(MaxWait))
	return c, nil
}

// Notify reports a deployment. All attempts have the same Idempotency-Key: a late one starts no second run and supersedes no newer one.
// The Client keeps the wait token of the answer, and reads with it how the runs end.
func (c *Client) Notify(ctx context.Context, n Notification) (*NotificationResult, error) {
	return c.notify(ctx, n, "")
}

// NotifyRerun reports a deployment, and starts another attempt of runs of its commit that have a result.
func (c *Client) NotifyRerun(ctx context.Context, n Notification) (*NotificationResult, error) {
	return c.notify(ctx, n, "?rerun=true")
}

func (c *Client) notify(ctx context.Context, n Notification, query string) (*NotificationResult, error) {
	header := c.trace.Clone()
	header.Set("Idempotency-Key", rand.Text())
	result, err := request[NotificationResult](ctx, c, http.MethodPost, "/api/webhooks/deploy_success"+query, header, n)
	if result != nil {
		c.waits.take(result, time.Now())
	}
	return result, err
}

// Explain returns what Notify would do, and why. It starts no run.
func (c *Client) Explain(ctx context.Context, n Notification) (*NotificationResult, error) {
	return request[NotificationResult](ctx, c, http.MethodPost, "/api/webhooks/deploy_success?dryRun=true", nil, n)
}

// EnvironmentTerminated reports that an ephemeral environment is gone: its runs are canceled, and it is deleted.
func (c *Client) EnvironmentTerminated(ctx context.Context, t Termination) (*TerminationResult, error) {
	return request[TerminationResult](ctx, c, http.MethodPost, "/api/webhooks/environment_terminated", nil, t)
}

// SignUpload returns a URL to which a file of exactly so many bytes may be PUT.
func (c *Client) SignUpload(ctx context.Context, path string, size int64) (*SignedURL, error) {
	return c.signUpload(ctx, "/api/v0/run-inputs-executables-signed-urls", path, size)
}

// SignTeamStorage is SignUpload for a file with any extension, which many runs of the team use.
func (c *Client) SignTeamStorage(ctx context.Context, path string, size int64) (*SignedURL, error) {
	return c.signUpload(ctx, "/api/v0/team-storage-signed-url", path, size)
}

func (c *Client) signUpload(ctx context.Context, route, path string, size int64) (*SignedURL, error) {
	query := url.Values{"file": {path}, "bytes": {strconv.FormatInt(size, 10)}}
	return request[SignedURL](ctx, c, http.MethodGet, route+"?"+query.Encode(), nil, nil)
}

// request sends a request until it is answered. The body is nil, or becomes JSON.
func request[T any](ctx context.Context, c *Client, method, path string, header http.Header, body any) (*T, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return requestWith[T](ctx, c, method, path, header, content)
}

func requestWith[T any](ctx context.Context, c *Client, method, path string, header http.Header, content []byte) (*T, error) {
	var result T
	err := c.retry(ctx, func() error {
		return c.authorized(ctx, outcomeOf(method, path), func(token string) error {
			return c.send(ctx, token, method, path, header, content, &result)
		})
	})
	return &result, err
}

// newRequest returns a request with the headers of all requests.
func (c *Client) newRequest(ctx context.Context, token, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, publicurl.Join(c.baseURL, path), body)
	if err != nil {
		return nil, err
	}
	r.Header = c.header.Clone()
	r.Header.Set("Authorization", "Bearer "+token)
	return r, nil
}

// send sends one request and decodes the answer. Its errors are *Error, unless the request is invalid.
func (c *Client) send(ctx context.Context, token, method, path string, header http.Header, body []byte, result any) error {
	r, err := c.newRequest(ctx, token, method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if body != nil && header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return unreachable(err)
	}
	good := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated
	if text, wanted := result.(*string); wanted && good && isMediaType(resp, markdownType) {
		*text = string(answer)
		return nil
	}
	known := isMediaType(resp, "application/json") || isMediaType(resp, bundleType)
	if good && known && json.Unmarshal(answer, result) == nil {
		return nil
	}
	return problemOf(resp, answer)
}

// retry repeats an attempt while its error is temporary and there is time left.
func (c *Client) retry(ctx context.Context, attempt func() error) error {
	return transfer.Retry{
		Min: time.Second, Max: 15 * time.Second, Within: c.retryTimeout, Pausing: c.onRetry,
		Retryable: func(err error) (bool, time.Duration) {
			if failed, ok := errors.AsType[*Error](err); ok {
				return failed.Temporary(), failed.RetryAfter
			}
			noToken, ok := errors.AsType[temporary](err)
			return ok && noToken.Temporary(), 0
		},
	}.Do(ctx, attempt)
}

// temporary is an error of a TokenSource that may be over later.
type temporary interface {
	error
	Temporary() bool
}
