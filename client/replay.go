package client

import (
	"context"
	"iter"
	"time"
)

// Replay tries the Triggers of manifests, in YAML or JSON, on the notifications that the team sent since a time. It creates nothing. The
// pages have the newest notifications first, and counts of their own. An error is the last element.
func (c *Client) Replay(ctx context.Context, manifests []byte, since time.Time) iter.Seq2[*Replay, error] {
	return func(yield func(*Replay, error) bool) {
		for cursor := ""; ; {
			page, err := c.ReplayPage(ctx, manifests, since, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) || page.Next == "" {
				return
			}
			cursor = page.Next
		}
	}
}
