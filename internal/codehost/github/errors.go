package github

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
)

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
