package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Request is an http.Request and what is known of it.
type Request struct {
	*http.Request
	Principal Principal // of an authenticated request

	id         string    // for logs and the client, who may have chosen it
	receivedAt time.Time // by the clock of the API
	route      string    // for metrics: of few values
	audit      []any     // keys and values that the handler adds to the audit line
	gates      []*gate   // that it has entered, which bound how many requests do what this one does
}

// team is whose request it is, once it is authenticated.
func (r *Request) team() string { return r.Principal.Team.Name }

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := *r.URL
	url.Path, url.RawPath = cleanPath(r.URL.Path), ""
	ctx := r.Context()
	if ctx.Value(http.ServerContextKey) != nil { // nobody but the server, which is done with it, has this request
		ctx = context.WithValue(ctx, serverRequest{}, r)
	}
	clean := r.WithContext(ctx)
	clean.URL = &url
	a.mux.ServeHTTP(w, clean)
}

// serverRequest is the key of the request that the server holds until it is answered.
type serverRequest struct{}

// forget drops what a request does not need that only waits from here on, for news or for its body:
// thousands may, and the headers and the URL of each would keep up to 16 KiB. All parts of the request line
// share one string.
func (r *Request) forget() {
	method := strings.Clone(r.Method)
	if original, ok := r.Context().Value(serverRequest{}).(*http.Request); ok {
		original.Method, original.Proto, original.Host = method, "", ""
		original.Header, original.RequestURI, original.URL = nil, "", &url.URL{}
	}
	r.Request = (&http.Request{Method: method, Body: r.Body, ContentLength: r.ContentLength}).WithContext(r.Context())
}

// nowhere takes the place of a dot segment: no route has it, and no id is named so.
const nowhere = "..."

// cleanPath makes one slash of several: clients put a path behind a base URL that ends in a slash.
// ServeMux would redirect them, and a client that follows a redirect sends a GET. A path with dot
// segments leads nowhere.
func cleanPath(path string) string {
	var clean strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "":
			continue
		case ".", "..":
			segment = nowhere
		}
		clean.WriteByte('/')
		clean.WriteString(segment)
	}
	if clean.Len() == 0 {
		return "/"
	}
	return clean.String()
}

// handler is what surrounds every route: the request id, errors and panics, metrics and the audit
// line.
func (a *API) handler(handle func(http.ResponseWriter, *Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, httpRequest *http.Request) {
		r := &Request{Request: httpRequest, id: requestID(httpRequest.Header), receivedAt: a.Now(), route: httpRequest.Pattern}
		log := a.Log.WithValues("requestID", r.id)
		r.Request = httpRequest.WithContext(logr.NewContext(httpRequest.Context(), log))
		answer := &answer{ResponseWriter: w}
		answer.Header().Set("X-Request-Id", r.id)
		answer.Header().Set("Connection", "close") // until the request is authenticated: room is for those who have a key
		defer a.finish(answer, r)
		if err := guarded(answer, r, handle); err != nil {
			a.fail(answer, r, err)
		}
	})
}

// guarded makes an error of a panic in the handler.
func guarded(w http.ResponseWriter, r *Request, handle func(http.ResponseWriter, *Request) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	return handle(w, r)
}

// bounded counts the request among those in flight. It must be authenticated: otherwise anybody could
// fill all slots, with answers that are never read.
func (a *API) bounded(w http.ResponseWriter, r *Request, handle func(http.ResponseWriter, *Request) error) error {
	if !r.enter(a.inFlight) {
		return &failure{code: "overloaded", message: "The server is answering as many requests as it can, or as many of this team as leave room for others. Send the request again in a few seconds."}
	}
	defer r.leave()
	return handle(w, r)
}

// move makes the request count among others, which wait and so cost less; false if there are too
// many of those.
func (r *Request) move(to *gate) bool {
	if !to.enter(r.team()) {
		return false
	}
	r.leave()
	r.gates = append(r.gates, to)
	return true
}

// enter is false where the gate is full.
func (r *Request) enter(g *gate) bool {
	if !g.enter(r.team()) {
		return false
	}
	r.gates = append(r.gates, g)
	return true
}

// leave leaves every gate.
func (r *Request) leave() {
	for _, g := range r.gates {
		g.leave(r.team())
	}
	r.gates = nil
}

// recovered makes an error of a panic, so that one bad request does not end the process. The one
// that net/http asks handlers for goes on.
func recovered(p any) error {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	return fmt.Errorf("panic: %v\n%s", p, debug.Stack())
}

// fail answers with the error. Where the answer has begun there is only the connection left to cut.
func (a *API) fail(w *answer, r *Request, err error) {
	f := failureOf(err)
	log := logr.FromContextOrDiscard(r.Context())
	switch status := failures[f.code].status; {
	case f.code == "internal_error":
		log.Error(err, "a request failed", "route", r.route)
	case status >= http.StatusInternalServerError:
		log.Info("a request was turned away", "route", r.route, "failureCode", f.code, "cause", f.Error())
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeFailure(w, f, r.id)
}

// finish counts the request and, if it was authenticated, writes its line in the audit log.
func (a *API) finish(w *answer, r *Request) {
	took := a.Now().Sub(r.receivedAt)
	code := w.status
	if r.Context().Err() != nil {
		code = statusClientClosed
	}
	a.metrics.requests.WithLabelValues(r.route, strconv.Itoa(code)).Inc()
	a.metrics.seconds.WithLabelValues(r.route).Observe(took.Seconds())
	if r.Principal.Team != nil {
		a.auditLine(r, code, took)
	}
}

// statusClientClosed is what logs and metrics show for a client that went away before its answer.
const statusClientClosed = 499

// auditLine says who asked for what, and what came of it; never a key and never a variable.
func (a *API) auditLine(r *Request, code int, took time.Duration) {
	line := []any{
		"requestID", r.id,
		"team", r.Principal.Team.Name,
		"key", r.Principal.Key.Namespace + "/" + r.Principal.Key.Name,
		"method", r.Method,
		"route", r.route,
		"code", code,
		"milliseconds", took.Milliseconds(),
	}
	a.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.audit...)...)
}

// answer remembers the status that was written.
type answer struct {
	http.ResponseWriter
	status int
}

func (w *answer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
