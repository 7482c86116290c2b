// Package openapi checks what servers and clients of tests send each other, by the OpenAPI document of the HTTP API.
package openapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/postflight-dev/postflight/internal/server/api"
)

func init() {
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.RegisteredBodyDecoder("text/plain"))
}

var load = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.OpenAPI) })

// Check returns a handler that answers like another one, and fails the test if the document does not allow a request
// or its answer. Answers are sent at once, so they must end.
func Check(t testing.TB, handler http.Handler) http.Handler {
	t.Helper()
	doc, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the body of %s: %v", r.URL.Path, err)
		}
		input := documented(doc, r, body)
		if input == nil {
			t.Errorf("%s %s is not documented", r.Method, r.URL.Path)
			http.NotFound(w, r)
			return
		}
		if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil {
			t.Errorf("%s %s is not as documented: %v", r.Method, r.URL, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		answer.Header().Set("X-Request-Id", "test")
		handler.ServeHTTP(answer, r)
		checkAnswer(t, input, answer)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

func checkAnswer(t testing.TB, input *openapi3filter.RequestValidationInput, answer *httptest.ResponseRecorder) {
	t.Helper()
	if err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.Code, Header: answer.Header(),
		Body: io.NopCloser(bytes.NewReader(answer.Body.Bytes())), Options: input.Options,
	}); err != nil {
		t.Errorf("the answer of the test to %s is not as documented: %v\n%d %s", input.Request.URL, err, answer.Code, answer.Body)
	}
}

// documented is nil for a request that the document does not have.
func documented(doc *openapi3.T, r *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	for path, item := range doc.Paths.Map() {
		parameters, ok := parametersOf(path, r.URL.EscapedPath())
		operation := item.GetOperation(r.Method)
		if !ok || operation == nil {
			continue
		}
		clone := r.Clone(r.Context())
		clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return &openapi3filter.RequestValidationInput{
			Request: clone, PathParams: parameters,
			Route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
		}
	}
	return nil
}

// parametersOf reports whether a path is one of the document, and returns its parameters.
func parametersOf(documented, path string) (map[string]string, bool) {
	want, got := strings.Split(documented, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	parameters := map[string]string{}
	for i, segment := range want {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			parameters[strings.TrimSuffix(name, "}")] = got[i]
		} else if segment != got[i] {
			return nil, false
		}
	}
	return parameters, true
}
