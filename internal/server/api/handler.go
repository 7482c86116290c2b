package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"

	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

// Request is an http.Request with its sender.
type Request struct {
	*http.Request
	Principal auth.Principal // of an authenticated request
	pod       *podfiles.Run  // nil: a Principal with a Sender sends it

	requestID  string     // see requestID
	receivedAt time.Time  // by Clock
	route      string     // for metrics: of few values
	countAs    int        // the status in metrics, which alerts use; 0: that of the answer
	teamCode   int        // the status for the Principal's team, if the answer is for several; 0: that of the answer
	audit      []any      // keys and values that the handler adds to the audit line
	span       trace.Span // nil: the request is not traced

	acquired []*fairness.TeamLimiter // to release when the request is answered
}

func (r *Request) team() string { return r.Principal.Team.Name }

func (r *Request) sender() (kind, name string) {
	if r.pod != nil {
		return "pod", r.pod.Namespace + "/" + r.pod.Name
	}
	return r.Principal.Sender.Kind, r.Principal.Sender.Name
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := *r.URL
	url.Path, url.RawPath = cleanPath(r.URL.Path), ""
	ctx := r.Context()
	if ctx.Value(http.ServerContextKey) != nil { // only the server has this request, and no longer needs it
		ctx = context.WithValue(ctx, serverRequest{}, r)
	}
	clean := r.WithContext(ctx)
	clean.URL = &url
	a.mux.ServeHTTP(w, clean)
}

// serverRequest is the context key of net/http's own Request.
type serverRequest struct{}

// forget drops what a waiting request does not need, also from net/http's own Request: 3,500 requests then keep 61 MiB less.
func (r *Request) forget() {
	method := strings.Clone(r.Method) // all parts of the request line share one string
	if original, ok := r.Context().Value(serverRequest{}).(*http.Request); ok {
		original.Method, original.Proto, original.Host = method, "", ""
		original.Header, original.RequestURI, original.URL = nil, "", &url.URL{}
	}
	r.Request = (&http.Request{Method: method, Body: r.Body, ContentLength: r.ContentLength}).WithContext(r.Context())
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

// handler adds the request id, metrics, the audit line and the answers to errors and panics.
func (a *API) handler(handle func(http.ResponseWriter, *Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, httpRequest *http.Request) {
		r := &Request{Request: httpRequest, requestID: requestID(httpRequest.Header), receivedAt: a.Clock.Now(), route: httpRequest.Pattern}
		log := a.Log.WithValues("requestID", r.requestID)
		r.Request = httpRequest.WithContext(logr.NewContext(httpRequest.Context(), log))
		response := &response{ResponseWriter: w}
		response.Header().Set("X-Request-Id", r.requestID)
		response.Header().Set("Connection", "close") // until the request is authenticated: connections are for those with a key
		defer a.finish(response, r)
		if err := recoverPanic(response, r, handle); err != nil {
			a.fail(response, r, err)
		}
	})
}

// recoverPanic returns a panic as an error, except http.ErrAbortHandler, which net/http handles.
func recoverPanic(w http.ResponseWriter, r *Request, handle func(http.ResponseWriter, *Request) error) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return handle(w, r)
}

// moveTo releases all limiters but l, and reports whether l had a slot.
func (r *Request) moveTo(l *fairness.TeamLimiter) bool {
	if !l.TryAcquire(r.team()) {
		return false
	}
	r.release()
	r.acquired = append(r.acquired, l)
	return true
}

func (r *Request) acquire(l *fairness.TeamLimiter) bool {
	if !l.TryAcquire(r.team()) {
		return false
	}
	r.acquired = append(r.acquired, l)
	return true
}

func (r *Request) release() {
	for _, l := range r.acquired {
		l.Release(r.team())
	}
	r.acquired = nil
}

// fail answers with the error. It cuts the connection if the answer has begun.
func (a *API) fail(w *response, r *Request, err error) {
	f := failureOf(err)
	log := logr.FromContextOrDiscard(r.Context())
	switch status := failures[f.code].status; {
	case f.code == "internal_error":
		log.Error(err, "a request failed", "route", r.route)
	case f.stranger:
		r.countAs = http.StatusUnauthorized
		log.V(1).Info("a request was turned away", "route", r.route, "failureCode", f.code, "cause", f.Error())
	case status >= http.StatusInternalServerError:
		log.Info("a request was turned away", "route", r.route, "failureCode", f.code, "cause", f.Error())
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeFailure(w, f, r.requestID)
}

func (a *API) finish(w *response, r *Request) {
	took := a.Clock.Since(r.receivedAt)
	code := w.status
	if r.Context().Err() != nil {
		code = statusClientClosed
	}
	a.metrics.requests.WithLabelValues(r.route, strconv.Itoa(cmp.Or(r.countAs, code))).Inc()
	observe(a.metrics.seconds.WithLabelValues(r.route), took.Seconds(), r.endSpan(code))
	if r.Principal.Team != nil {
		a.metrics.ofTeams.WithLabelValues(a.TeamLabel(r.team()), strconv.Itoa(code/100)+"xx").Inc()
		a.auditLine(r, cmp.Or(r.teamCode, code), took)
	}
}

// statusClientClosed is in logs and metrics if the client left before its answer.
const statusClientClosed = 499

// auditLine never contains a key, a token or a variable.
func (a *API) auditLine(r *Request, code int, took time.Duration) {
	kind, who := r.sender()
	line := []any{
		"requestID", r.requestID,
		"team", r.Principal.Team.Name,
		kind, who,
		"method", r.Method,
		"route", r.route,
		"code", code,
		"milliseconds", took.Milliseconds(),
	}
	if subject := r.Principal.Sender.Subject; subject != "" {
		line = append(line, "subject", subject)
	}
	a.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.audit...)...)
}

type response struct {
	http.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
