package client

import (
	"context"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// WhoAmI says whom the server takes the sender for, and what that sender may do.
type WhoAmI = httpapi.WhoAmI

// WhoAmI returns who the sender is.
func (c *Client) WhoAmI(ctx context.Context) (*WhoAmI, error) {
	return request[WhoAmI](ctx, c, http.MethodGet, "/api/v0/whoami", nil, nil)
}
