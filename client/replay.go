package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Replay tries the Triggers of manifests, in YAML or JSON, on the notifications that the team sent since a time. It creates nothing. The
// pages have the newest notifications first, and counts of their own. An error is the last element.
func (c *Client) Replay(ctx context.Context, manifests []byte, since time.Time) iter.Seq2[*Replay, error] {
	return func(yield func(*Replay, error) bool) {
		query := url.Values{"since": {since.UTC().Format(time.RFC3339)}}
		header := http.Header{"Content-Type": {"application/yaml"}}
		for {
			page, err := requestWith[Replay](ctx, c, http.MethodPost, "/api/v0/replay?"+query.Encode(), header, manifests)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) || page.Next == "" {
				return
			}
			query.Set("cursor", page.Next)
		}
	}
}
