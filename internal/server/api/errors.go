package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const problemBase = "https://postflight.dev/problems/"

// failures are by code. Codes are stable: clients may branch on them.
var failures = map[string]struct {
	status int
	title  string
}{
	"invalid_request":         {http.StatusBadRequest, "The request is not valid"},
	"invalid_body":            {http.StatusBadRequest, "The body is not a valid notification"},
	"invalid_file":            {http.StatusBadRequest, "The file or its size is not valid"},
	"invalid_trigger":         {http.StatusBadRequest, "The Trigger is not valid"},
	"invalid_idempotency_key": {http.StatusBadRequest, "The Idempotency-Key is not valid"},
	"invalid_signature":       {http.StatusUnauthorized, "The signature of the event is not valid"},
	"unauthenticated":         {http.StatusUnauthorized, "Missing or invalid API key or token"},
	"forbidden":               {http.StatusForbidden, "The sender may not do this"},
	"team_suspended":          {http.StatusForbidden, "The team is suspended"},
	"not_found":               {http.StatusNotFound, "Not found"},
	"run_not_found":           {http.StatusNotFound, "Run not found"},
	"log_not_found":           {http.StatusNotFound, "Log not found"},
	"environment_not_found":   {http.StatusNotFound, "Environment not found"},
	"test_not_found":          {http.StatusNotFound, "Test not found"},
	"run_finished":            {http.StatusConflict, "The run has ended"},
	"run_unfinished":          {http.StatusConflict, "The run has not ended"},
	"refused":                 {http.StatusConflict, "The request was refused"},
	"environment_static":      {http.StatusConflict, "The Environment is not ephemeral"},
	"method_not_allowed":      {http.StatusMethodNotAllowed, "Method not allowed"},
	"body_timeout":            {http.StatusRequestTimeout, "The body did not arrive in time"},
	"file_too_large":          {http.StatusRequestEntityTooLarge, "The file is too large"},
	"body_too_large":          {http.StatusRequestEntityTooLarge, "The body is too large"},
	"unsupported_media_type":  {http.StatusUnsupportedMediaType, "The body must be JSON"},
	"internal_error":          {http.StatusInternalServerError, "Internal server error"},
	"overloaded":              {http.StatusServiceUnavailable, "Too many requests at once"},
	"unavailable":             {http.StatusServiceUnavailable, "The cluster's API server is unavailable"},
	"store_not_configured":    {http.StatusServiceUnavailable, "No store for files is configured"},
	"store_unavailable":       {http.StatusServiceUnavailable, "The store for files is unavailable"},
}

type failure struct {
	code    string // a key of failures
	message string // a sentence that says what to do
	field   string // the wrong member of the body, e.g. variables.FOO

	retryAfter time.Duration // of a 503
	allow      []string      // of a 405
	results    []result      // known results of a notification that failed as a whole
	cause      error         // for the log of the operator, never for the client
	stranger   bool          // anybody can cause it at will, so a 503 is no sign that anything is wrong
}

func (f *failure) Error() string {
	if f.cause != nil {
		return f.code + ": " + f.cause.Error()
	}
	return f.code
}

func (f *failure) Unwrap() error { return f.cause }

func overloaded(format string, args ...any) error {
	return &failure{code: "overloaded", message: fmt.Sprintf(format, args...)}
}

func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{code: "internal_error", cause: err,
		message: "The server failed to answer. Send the request again; if that fails too, give the operator the eventId."}
}

func writeFailure(w http.ResponseWriter, f *failure, eventID string) {
	kind := failures[f.code]
	switch kind.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", strings.Join(f.allow, ", "))
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	case http.StatusServiceUnavailable:
		seconds := math.Ceil(cmp.Or(f.retryAfter, retryAfter).Seconds())
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	writeJSON(w, "application/problem+json", kind.status, problem{
		Type:           problemBase + f.code,
		Title:          kind.title,
		Status:         kind.status,
		Detail:         f.message,
		FailureCode:    f.code,
		FailureMessage: f.message,
		EventID:        eventID,
		Field:          f.field,
		Results:        f.results,
	})
}

// writeJSON ignores errors: the client is gone.
func writeJSON(w http.ResponseWriter, contentType string, status int, body any) {
	beginJSON(w, contentType, status)
	_ = encoder(w).Encode(body)
}

func beginJSON(w http.ResponseWriter, contentType string, status int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

// encoder does not escape HTML, because people read answers in logs; the content type keeps browsers from reading it as HTML.
func encoder(w io.Writer) *json.Encoder {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out
}
