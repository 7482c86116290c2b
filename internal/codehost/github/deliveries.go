package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// maxPages bounds a list of deliveries: 1,000 attempts in less than an hour.
const maxPages = 10

// Hook is the webhook of an App.
type Hook struct {
	Host        *Host
	Credentials func() (report.Credentials, error) // read again for each list, and for each delivery
}

// Deliveries lists the attempts to deliver events since a time.
func (h *Hook) Deliveries(ctx context.Context, since time.Time) (attempts []github.Attempt, err error) {
	client, err := h.client()
	if err != nil {
		return nil, err
	}
	options := &gh.ListCursorOptions{PerPage: 100}
	for range maxPages { // newest first
		page, answer, err := client.Apps.ListHookDeliveries(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the deliveries of the GitHub App: %w", err)
		}
		for _, d := range page {
			if d.GetDeliveredAt().Before(since) {
				return attempts, nil
			}
			attempts = append(attempts, github.Attempt{
				ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(), Code: d.GetStatusCode(), At: d.GetDeliveredAt().Time,
			})
		}
		if options.Cursor = answer.Cursor; options.Cursor == "" {
			break
		}
	}
	return attempts, nil
}

// Redeliver asks GitHub for another attempt. Its error may be github.ErrRateLimit.
func (h *Hook) Redeliver(ctx context.Context, attempt int64) error {
	client, err := h.client()
	if err != nil {
		return err
	}
	_, _, err = client.Apps.RedeliverHookDelivery(ctx, attempt)
	var (
		accepted  *gh.AcceptedError
		primary   *gh.RateLimitError
		secondary *gh.AbuseRateLimitError
		answer    *gh.ErrorResponse
	)
	switch {
	case errors.As(err, &accepted):
		return nil
	case errors.As(err, &primary), errors.As(err, &secondary),
		errors.As(err, &answer) && answer.Response.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", github.ErrRateLimit, err)
	default:
		return err
	}
}

func (h *Hook) client() (*gh.Client, error) {
	c, err := h.Credentials()
	if err != nil {
		return nil, err
	}
	app, err := h.Host.app(c)
	if err != nil {
		return nil, err
	}
	return h.Host.newClient(gh.WithTransport(app))
}
