package codehost

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/getkin/kin-openapi/openapi3filter"
)

// Fault is how a host fails.
type Fault struct {
	Status int // of the answer; 0: none, the request hangs until its client gives up
	Header map[string]string
	Body   string

	Reset   bool // the connection is cut instead
	Handled bool // the request has its effect first

	Times int    // how many requests fail; 0: all
	Path  string // a part of the paths of the requests that fail
}

// serve answers a request. What differs from the description of the API fails the test.
func (h *Host) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	fault := h.record(r)
	if fault != nil && !fault.Handled {
		fail(w, r, fault)
		return
	}
	input, err := h.validateRequest(r, body)
	if err != nil {
		h.t.Errorf("a request is not as documented: %s %s: %v\n%s", r.Method, r.URL, err, body)
		refuse(w, http.StatusBadRequest, "not as documented")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answered := httptest.NewRecorder()
	next.ServeHTTP(answered, r)
	if err := validateResponse(input, answered); err != nil {
		h.t.Errorf("the fake does not answer as documented: %s %s: %v\n%s", r.Method, r.URL, err, answered.Body)
	}
	if fault != nil {
		fail(w, r, fault)
		return
	}
	for name, values := range answered.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answered.Code)
	_, _ = answered.Body.WriteTo(w)
}

func (h *Host) record(r *http.Request) *Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r.Method+" "+r.URL.EscapedPath())
	for _, values := range r.Header {
		for _, value := range values {
			h.seen[value] = true
		}
	}
	f := h.fault
	if f == nil || !strings.Contains(r.URL.Path, f.Path) || f.Times > 0 && h.failed >= f.Times {
		return nil
	}
	h.failed++
	return f
}

func fail(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Reset:
		panic(http.ErrAbortHandler)
	case f.Status == 0:
		<-r.Context().Done()
		return
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Body)
}

func (h *Host) validateRequest(r *http.Request, body []byte) (*openapi3filter.RequestValidationInput, error) {
	route, parameters, err := h.router.FindRoute(r)
	if err != nil {
		return nil, err
	}
	for name := range r.URL.Query() {
		if route.Operation.Parameters.GetByInAndName("query", name) == nil {
			return nil, fmt.Errorf("the query parameter %s is not documented", name)
		}
	}
	if r.Header.Get("User-Agent") == "" {
		return nil, fmt.Errorf("it has no User-Agent, which GitHub requires")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	return input, openapi3filter.ValidateRequest(r.Context(), input)
}

func validateResponse(input *openapi3filter.RequestValidationInput, answered *httptest.ResponseRecorder) error {
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answered.Code, Header: answered.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	response.SetBodyBytes(answered.Body.Bytes())
	return openapi3filter.ValidateResponse(input.Request.Context(), response)
}
