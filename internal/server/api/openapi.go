package api

import (
	_ "embed"
	"net/http"
)

// OpenAPI is the description of the API, for tools and tests.
//
//go:embed openapi.yaml
var OpenAPI []byte

func (a *API) openAPI(w http.ResponseWriter, _ *Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(OpenAPI) // a client that went away needs no answer
	return nil
}
