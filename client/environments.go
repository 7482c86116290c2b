package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

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
	e, err := request[EnvironmentStatus](ctx, c, http.MethodGet, environmentsPath+"/"+url.PathEscape(name), nil, nil)
	if e != nil {
		c.resolveLink(&e.PageURL)
	}
	return e, err
}
