package api

import (
	_ "embed"
	"net/http"

	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// OpenAPI describes the API.
//
//go:embed openapi.yaml
var OpenAPI []byte

func (a *API) openAPI(w http.ResponseWriter, _ *exchange.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(OpenAPI)
	return nil
}
