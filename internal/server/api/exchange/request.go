package exchange

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

// Request is an http.Request with its sender.
type Request struct {
	*http.Request
	Principal  auth.Principal         // of an authenticated request
	Delegation *delegation.Delegation // nil: no hub sends the request
	Pod        *podfiles.Run          // nil: a Principal with a Sender sends it

	ID         string    // see requestID
	ReceivedAt time.Time // by the Clock
	Route      string    // for metrics: has few values
	TRPC       bool      // failures are answered as tRPC does
	TeamStatus int       // the status for the Principal's team, if the answer is for several; 0: the status of the answer

	countAs  int                     // the status in metrics, which alerts use; 0: the status of the answer
	audit    []any                   // keys and values that the handler adds to the audit line
	span     trace.Span              // nil: the request is not traced
	acquired []*fairness.TeamLimiter // to release when the request is answered
}

// Team is the name of the Principal's team.
func (r *Request) Team() string { return r.Principal.Team.Name }

// AddToAudit adds keys and values to the audit line of the request.
func (r *Request) AddToAudit(keysAndValues ...any) { r.audit = append(r.audit, keysAndValues...) }

func (r *Request) sender() (kind, name string) {
	if r.Pod != nil {
		return "pod", r.Pod.Namespace + "/" + r.Pod.Name
	}
	return r.Principal.Sender.Kind, r.Principal.Sender.Name
}

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID returns the id from the client or a proxy if it may go into logs, or a new one.
func requestID(h http.Header) string {
	if ids := h.Values("X-Request-Id"); len(ids) == 1 && validRequestID.MatchString(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}

// Acquire takes a slot of the team until the request is answered, and reports whether there was one.
func (r *Request) Acquire(l *fairness.TeamLimiter) bool {
	if !l.TryAcquire(r.Team()) {
		return false
	}
	r.acquired = append(r.acquired, l)
	return true
}

// MoveTo releases all limiters but l, and reports whether l had a slot.
func (r *Request) MoveTo(l *fairness.TeamLimiter) bool {
	if !l.TryAcquire(r.Team()) {
		return false
	}
	r.release()
	r.acquired = append(r.acquired, l)
	return true
}

// BeginWait counts the request among the waiting ones, which have a bound of their own.
func (r *Request) BeginWait(waiting *fairness.TeamLimiter) error {
	if len(r.RequestURI) > limits.MaxWaitingURL {
		return InvalidRequest("Send a URL of at most %d bytes with wait, or leave wait out.", limits.MaxWaitingURL)
	}
	if !r.MoveTo(waiting) {
		return Overloaded("As many requests wait for runs as this server allows, or as many of this team as leave room for others. " +
			"Ask again without wait, or in a few seconds.")
	}
	return nil
}

func (r *Request) release() {
	for _, l := range r.acquired {
		l.Release(r.Team())
	}
	r.acquired = nil
}

// serverRequest is the context key of net/http's own Request.
type serverRequest struct{}

// Forget drops what a waiting request does not need, also from net/http's own Request: 3,500 requests then keep 61 MiB less.
func (r *Request) Forget() {
	method := strings.Clone(r.Method) // all parts of the request line share one string
	if original, ok := r.Context().Value(serverRequest{}).(*http.Request); ok {
		original.Method, original.Proto, original.Host = method, "", ""
		original.Header, original.RequestURI, original.URL = nil, "", &url.URL{}
	}
	r.Request = (&http.Request{Method: method, Body: r.Body, ContentLength: r.ContentLength}).WithContext(r.Context())
}

// Clean returns a request for a ServeMux, with a clean path.
func Clean(r *http.Request) *http.Request {
	address := *r.URL
	address.Path, address.RawPath = cleanPath(r.URL.Path), ""
	ctx := r.Context()
	if ctx.Value(http.ServerContextKey) != nil { // only the server has this request, and no longer needs it
		ctx = context.WithValue(ctx, serverRequest{}, r)
	}
	clean := r.WithContext(ctx)
	clean.URL = &address
	return clean
}

// invalidSegment replaces . and ..; it matches no route or id.
const invalidSegment = "..."

// cleanPath merges slashes, as after a base URL that ends in one. ServeMux would redirect, and a redirected POST becomes a GET.
func cleanPath(path string) string {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, segment := range segments {
		if segment == "." || segment == ".." {
			segments[i] = invalidSegment
		}
	}
	return "/" + strings.Join(segments, "/")
}
