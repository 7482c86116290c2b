package exchange

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

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
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
	"attestation_not_found":   {http.StatusNotFound, "No signed verdict"},
	"attestation_pending":     {http.StatusNotFound, "The verdict is not signed yet"},
	"run_finished":            {http.StatusConflict, "The run has ended"},
	"run_unfinished":          {http.StatusConflict, "The run has not ended"},
	"refused":                 {http.StatusConflict, "The request was refused"},
	"loop":                    {http.StatusConflict, "A hub may not hand on to another hub"},
	"cluster_refused":         {http.StatusFailedDependency, "The other cluster refused"},
	"cluster_unavailable":     {http.StatusServiceUnavailable, "The other cluster does not answer"},
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

// Failure is an error that the client is told.
type Failure struct {
	Code    string // a key of failures
	Message string // a sentence that says what to do
	Field   string // the wrong member of the body, e.g. variables.FOO

	RetryAfter time.Duration // of a 503
	Allow      []string      // of a 405
	Results    []result      // known results of a notification that failed as a whole
	Cause      error         // for the log of the operator, never for the client
	Stranger   bool          // anyone can cause it at will, so a 503 is no sign that anything is wrong
}

func (f *Failure) Error() string {
	if f.Cause != nil {
		return f.Code + ": " + f.Cause.Error()
	}
	return f.Code
}

func (f *Failure) Unwrap() error { return f.Cause }

// ErrNoStore has a long pause because the configuration has to change.
var ErrNoStore = &Failure{Code: "store_not_configured", RetryAfter: 5 * time.Minute,
	Message: "No store for files is configured, so nothing can be uploaded. " +
		"Ask the operator of this service to set --store-bucket and --store-endpoint."}

// InvalidRequest is the failure of a wrong parameter.
func InvalidRequest(format string, args ...any) error {
	return &Failure{Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// Forbidden is the failure of a sender that lacks a right.
func Forbidden(format string, args ...any) error {
	return &Failure{Code: "forbidden", Message: fmt.Sprintf(format, args...)}
}

// RunUnavailable is the failure if neither the cache nor the API server knows a run at the moment.
func RunUnavailable(err error) error {
	return &Failure{Code: "unavailable", Cause: err, Message: "The run cannot be looked up at the moment. Ask again in a few seconds."}
}

// AuthFailure completes the failure that an authenticator's error has by its status.
func AuthFailure(err error, failures map[int]Failure) error {
	var named interface{ HTTPStatus() int }
	if !errors.As(err, &named) {
		return err
	}
	f, ok := failures[named.HTTPStatus()]
	if !ok {
		return err
	}
	if refused, ok := errors.AsType[interface {
		error
		Advice() string
	}](err); ok {
		f.Message = cmp.Or(refused.Advice(), f.Message)
	}
	if sender, ok := errors.AsType[interface {
		error
		Unclear() bool
	}](err); ok {
		f.Stranger = sender.Unclear()
	}
	f.Cause = err
	return &f
}

// Overloaded is the failure of a request that the limits refuse.
func Overloaded(format string, args ...any) error {
	return &Failure{Code: "overloaded", Message: fmt.Sprintf(format, args...)}
}

// StatusOf returns the status of the answer to a request with this error.
func StatusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return failures[failureOf(err).Code].status
}

func failureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Code: "internal_error", Cause: err,
		Message: "The server failed to answer. Send the request again; if that fails too, give the operator the eventId."}
}

func writeFailure(w http.ResponseWriter, f *Failure, r *Request) {
	kind := failures[f.Code]
	switch kind.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", strings.Join(f.Allow, ", "))
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	case http.StatusServiceUnavailable:
		seconds := math.Ceil(cmp.Or(f.RetryAfter, limits.RetryAfter).Seconds())
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	if r.TRPC {
		WriteJSON(w, kind.status, newTRPCError(f, kind.status, r.ID))
		return
	}
	BeginJSON(w, "application/problem+json", kind.status)
	_ = Encoder(w).Encode(httpapi.Problem{
		Type:           problemBase + f.Code,
		Title:          kind.title,
		Status:         kind.status,
		Detail:         f.Message,
		FailureCode:    f.Code,
		FailureMessage: f.Message,
		EventID:        r.ID,
		Field:          f.Field,
		Results:        f.Results,
	})
}

// WriteJSON ignores errors: the client is gone.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	BeginJSON(w, "application/json", status)
	_ = Encoder(w).Encode(body)
}

// BeginJSON writes the headers of an answer in JSON.
func BeginJSON(w http.ResponseWriter, contentType string, status int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

// Encoder does not escape HTML, because people read answers in logs; the content type keeps browsers from reading it as HTML.
func Encoder(w io.Writer) *json.Encoder {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out
}
