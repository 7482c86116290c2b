package client

import (
	"context"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// Failure returns why a run ended as it did.
func (c *Client) Failure(ctx context.Context, id string) (*httpapi.Failure, error) {
	return request[httpapi.Failure](ctx, c, http.MethodGet, runPath(id)+"/failure", nil, nil)
}
