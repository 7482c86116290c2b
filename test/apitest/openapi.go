package apitest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

func init() {
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.RegisteredBodyDecoder("text/plain"))
}

var loadDocument = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableSchemaFormatValidation(), openapi3.EnableExamplesValidation())
})

// Document is the OpenAPI document.
func Document(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// CheckAgainstDocument fails the test if the document does not describe the answer, or does not allow a request that
// was answered with 200.
func CheckAgainstDocument(t testing.TB, r *http.Request, body []byte, w *httptest.ResponseRecorder) {
	t.Helper()
	input := Documented(t, r, body)
	if input == nil {
		return
	}
	if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil && w.Code == http.StatusOK {
		t.Errorf("a request was accepted that the document forbids: %v", err)
	}
	if r.Method == http.MethodHead {
		return
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: w.Code, Header: w.Header(),
		Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())), Options: input.Options,
	}
	if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
		t.Errorf("the answer is not as documented: %v\n%d %s", err, w.Code, w.Body)
	}
}

// Documented is nil for a path that the document does not have. A wrong method is checked by
// another operation of the path.
func Documented(t testing.TB, r *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	t.Helper()
	doc := Document(t)
	path, parameters := documentedPath(exchange.Clean(r).URL.Path)
	item := doc.Paths.Value(path)
	if item == nil {
		return nil
	}
	operation := item.GetOperation(r.Method)
	if operation == nil {
		operations := item.Operations()
		operation = operations[slices.Sorted(maps.Keys(operations))[0]]
	}
	clone := r.Clone(t.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	clone.ContentLength = int64(len(body))
	return &openapi3filter.RequestValidationInput{
		Request:    clone,
		PathParams: parameters,
		Route:      &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		Options: &openapi3filter.Options{
			AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true,
		},
	}
}

var (
	greenlightPattern  = regexp.MustCompile(`^(/api/v0/ci-greenlight/)([^/]+)$`)
	eventPattern       = regexp.MustCompile(`^/api/events/([^/]+)/([^/]+)$`)
	environmentPattern = regexp.MustCompile(`^/api/v0/environments/([^/]+)$`)
	runPattern         = regexp.MustCompile(`^(/api/v0/runs/)([^/]+)(/[a-z]+)?$`)
)

// documentedPath is the path in the document that matches a request's path, with the values of its parameters.
func documentedPath(path string) (string, map[string]string) {
	for _, pattern := range []*regexp.Regexp{greenlightPattern, runPattern} {
		if m := pattern.FindStringSubmatch(path); m != nil {
			return m[1] + "{id}" + strings.Join(m[3:], ""), map[string]string{"id": m[2]}
		}
	}
	if m := environmentPattern.FindStringSubmatch(path); m != nil {
		return "/api/v0/environments/{name}", map[string]string{"name": m[1]}
	}
	if m := eventPattern.FindStringSubmatch(path); m != nil {
		return "/api/events/{namespace}/{name}", map[string]string{"namespace": m[1], "name": m[2]}
	}
	return path, nil
}
