package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// TokenSource has the credential of each request. It is used by several requests at once.
type TokenSource interface {
	// Token returns what to send now. If the server has just refused a token, that is passed as refused, and a source that can get another
	// token returns it. An error with a method Temporary() bool that returns true is retried like an error of the server.
	Token(ctx context.Context, refused string) (string, error)
}

// explainer is a TokenSource that knows more about a refused token than the server tells.
type explainer interface{ Explain(refused string) string }

// WithTokens replaces the key given to New by tokens that may change with each request. If the source has a method
// Explain(refused string) string, what that returns ends the error of a refused request.
func WithTokens(s TokenSource) Option { return func(c *Client) { c.tokens = s } }

// WithTeam names the Team that requests are about, in case a token may be used for several.
func WithTeam(team string) Option {
	return func(c *Client) {
		if team != "" {
			c.header.Set("Postflight-Team", team)
		}
	}
}

// fixed is an API key.
type fixed string

func (k fixed) Token(context.Context, string) (string, error) { return string(k), nil }

// authorized sends a request with a token, and once more if the server refuses that and there is another one. A request that reads how
// a run ends uses the wait token of the run's notification, because the sender's own token may have expired.
func (c *Client) authorized(ctx context.Context, run string, send func(token string) error) error {
	if token := c.waits.tokenOf(run, time.Now()); token != "" {
		err := send(token)
		switch {
		case isStatus(err, http.StatusUnauthorized, http.StatusForbidden):
			c.waits.forget(token)
		case !isStatus(err, http.StatusNotFound): // which may also mean that the token does not cover the run
			return err
		}
	}
	token, err := c.tokens.Token(ctx, "")
	if err != nil {
		return err
	}
	err = send(token)
	if !isStatus(err, http.StatusUnauthorized) {
		return err
	}
	another, tokenErr := c.tokens.Token(ctx, token)
	if tokenErr != nil {
		return tokenErr
	}
	if another != token {
		token, err = another, send(another)
	}
	return c.explain(err, token)
}

// explain adds what the source knows about the token to the error of a refused request.
func (c *Client) explain(err error, token string) error {
	source, ok := c.tokens.(explainer)
	if failed, answered := errors.AsType[*Error](err); ok && answered && failed.Status == http.StatusUnauthorized {
		failed.hint = source.Explain(token)
	}
	return err
}

func isStatus(err error, statuses ...int) bool {
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Problem == nil { // a proxy may have rules of its own
		return false
	}
	for _, status := range statuses {
		if failed.Status == status {
			return true
		}
	}
	return false
}

// outcomeOf returns the run, as paths have it, whose outcome a request reads, or "". Files and logs are more than a wait token reads.
func outcomeOf(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(strings.TrimSuffix(path, resultsPath), attestationPath)
	for _, prefix := range []string{runsPath, greenlightPath} {
		if id, ok := strings.CutPrefix(path, prefix); ok && method == http.MethodGet && !strings.Contains(id, "/") {
			return id
		}
	}
	return ""
}
