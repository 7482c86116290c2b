package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

const environmentsPath = "/api/v0/environments"

// Environments returns the Environments of the team, by name, with what is deployed there. An error is the last element.
func (c *Client) Environments(ctx context.Context) iter.Seq2[EnvironmentStatus, error] {
	return func(yield func(EnvironmentStatus, error) bool) {
		query := url.Values{"limit": {"100"}}
		for e, err := range pages(ctx, c, environmentsPath, query, func(page *httpapi.EnvironmentList) ([]EnvironmentStatus, string) {
			return page.Environments, page.Next
		}) {
			c.resolveLink(&e.PageURL)
			if !yield(e, err) {
				return
			}
		}
	}
}

// Environment returns an Environment of the team.
func (c *Client) Environment(ctx context.Context, name string) (*EnvironmentStatus, error) {
	return c.environment(ctx, name, nil)
}

// EnvironmentAt returns what an Environment of the team had at a time that is over. It may have been deleted since.
func (c *Client) EnvironmentAt(ctx context.Context, name string, at time.Time) (*EnvironmentStatus, error) {
	return c.environment(ctx, name, url.Values{"at": {at.UTC().Format(time.RFC3339)}})
}

func (c *Client) environment(ctx context.Context, name string, query url.Values) (*EnvironmentStatus, error) {
	path := environmentsPath + "/" + url.PathEscape(name)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	e, err := request[EnvironmentStatus](ctx, c, http.MethodGet, path, nil, nil)
	if e != nil {
		c.resolveLink(&e.PageURL)
	}
	return e, err
}

// EnvironmentHistory returns up to limit deployments that an Environment of the team had after a time, newest first.
func (c *Client) EnvironmentHistory(ctx context.Context, name string, since time.Time, limit int) (*DeploymentHistory, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	path := environmentsPath + "/" + url.PathEscape(name) + "/deployments?" + query.Encode()
	return request[DeploymentHistory](ctx, c, http.MethodGet, path, nil, nil)
}
