package client

import (
	"context"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// Overview sums up what a team has.
type Overview = httpapi.Overview

// Overview returns what the team has, as its pages show it: how each Trigger does, and what is deployed where.
func (c *Client) Overview(ctx context.Context) (*Overview, error) {
	o, err := request[Overview](ctx, c, http.MethodGet, "/api/v0/overview", nil, nil)
	if o == nil {
		return nil, err
	}
	c.resolveLink(&o.PageURL)
	for i := range o.Board {
		c.resolveLink(&o.Board[i].URL)
	}
	for i := range o.Environments {
		c.resolveLink(&o.Environments[i].Environment.PageURL)
	}
	for i := range o.Runs {
		c.resolveLink(&o.Runs[i].URL)
	}
	return o, err
}
