package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// RunsPage returns one page of the runs of the team, newest first. The cursor is Next of the page before, or "".
func (c *Client) RunsPage(ctx context.Context, f RunFilter, cursor string) (*httpapi.Runs, error) {
	page, err := request[httpapi.Runs](ctx, c, http.MethodGet, "/api/v0/runs?"+withCursor(f.query(), cursor).Encode(), nil, nil)
	if err != nil {
		return nil, err
	}
	for i := range page.Runs {
		c.resolveLink(&page.Runs[i].URL)
	}
	return page, nil
}

// TestsPage returns one page of tests of the team, the least reliable first. The cursor is Next of the page before, or "".
func (c *Client) TestsPage(ctx context.Context, f TestFilter, cursor string) (*httpapi.TestList, error) {
	return request[httpapi.TestList](ctx, c, http.MethodGet, "/api/v0/tests?"+withCursor(f.listQuery(), cursor).Encode(), nil, nil)
}

// ReplayPage returns one page of what Replay returns. The cursor is Next of the page before, or "".
func (c *Client) ReplayPage(ctx context.Context, manifests []byte, since time.Time, cursor string) (*Replay, error) {
	query := withCursor(url.Values{"since": {since.UTC().Format(time.RFC3339)}}, cursor)
	header := http.Header{"Content-Type": {"application/yaml"}}
	return requestWith[Replay](ctx, c, http.MethodPost, "/api/v0/replay?"+query.Encode(), header, manifests)
}

func withCursor(query url.Values, cursor string) url.Values {
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}
