// Package exchange treats requests of all topics alike: it finds their parameters and bodies, bounds what a team takes, answers with
// failures, and measures, traces and logs.
package exchange

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
)

// Handler answers a request, or returns an error that may be a *Failure.
type Handler func(http.ResponseWriter, *Request) error

// Config is what a Server needs; see api.Config.
type Config struct {
	Authenticated func(ctx context.Context, team string)
	TeamLabel     func(team string) string
	Limits        limits.Limits
	Tracer        trace.Tracer // nil: no request is traced
	Log           logr.Logger
	Audit         *slog.Logger
	Clock         clock.PassiveClock
}

// Server treats the requests of all routes alike.
type Server struct {
	Config
	metrics  *metrics
	InFlight *fairness.TeamLimiter // authenticated requests
	Large    *fairness.TeamLimiter // those with a large body
	Archive  *fairness.TeamLimiter // those that read from the archive
}

// New returns a Server.
func New(c Config) *Server {
	return &Server{
		Config:   c,
		metrics:  newMetrics(),
		InFlight: fairness.NewTeamLimiter(c.Limits.InFlight),
		Large:    fairness.NewTeamLimiter(c.Limits.Large),
		Archive:  fairness.NewTeamLimiter(c.Limits.Archive),
	}
}

// Handler adds the request id, metrics, the audit line and the answers to errors and panics.
func (s *Server) Handler(handle Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, httpRequest *http.Request) {
		r := &Request{Request: httpRequest, ID: requestID(httpRequest.Header), ReceivedAt: s.Clock.Now(), Route: httpRequest.Pattern}
		log := s.Log.WithValues("requestID", r.ID)
		r.Request = httpRequest.WithContext(logr.NewContext(httpRequest.Context(), log))
		response := &response{ResponseWriter: w}
		response.Header().Set("X-Request-Id", r.ID)
		response.Header().Set("Connection", "close") // until the request is authenticated: connections are for senders with a key
		defer s.finish(response, r)
		if err := recoverPanic(response, r, handle); err != nil {
			s.fail(response, r, err)
		}
	})
}

// Answer limits only authenticated requests: otherwise anyone could take all slots, with answers that are never read.
func (s *Server) Answer(w http.ResponseWriter, r *Request, handle Handler) error {
	s.Authenticated(r.Context(), r.Team())
	w.Header().Del("Connection")
	if !r.Acquire(s.InFlight) {
		return Overloaded("The server is answering as many requests as it can, or as many of this team as leave room for others. " +
			"Send the request again in a few seconds.")
	}
	defer r.release()
	return handle(w, r)
}

// AcquireArchive takes a slot for reading from the archive.
func (s *Server) AcquireArchive(r *Request) error {
	if r.Acquire(s.Archive) {
		return nil
	}
	return Overloaded("The server is reading from the archive for as many requests as it can, or for as many of this team as leave room " +
		"for others. Send the request again in a few seconds.")
}

// ContinueAs continues a request that concerns several teams for the next Principal. Each team has its own audit line.
func (s *Server) ContinueAs(r *Request, next auth.Principal) {
	if r.Principal.Team != nil {
		s.auditLine(r, r.TeamStatus, s.Clock.Since(r.ReceivedAt))
	}
	r.Principal, r.audit = next, nil
}

// recoverPanic returns a panic as an error, except http.ErrAbortHandler, which net/http handles.
func recoverPanic(w http.ResponseWriter, r *Request, handle Handler) (err error) {
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

// fail answers with the error. It cuts the connection if the answer has begun.
func (s *Server) fail(w *response, r *Request, err error) {
	f := failureOf(err)
	log := logr.FromContextOrDiscard(r.Context())
	status := failures[f.Code].status
	switch {
	case f.Code == "internal_error":
		log.Error(err, "a request failed", "route", r.Route)
	case f.Stranger:
		r.countAs = http.StatusUnauthorized
		log.V(1).Info("a request was turned away", "route", r.Route, "failureCode", f.Code, "cause", f.Error())
	case status >= http.StatusInternalServerError:
		log.Info("a request was turned away", "route", r.Route, "failureCode", f.Code, "cause", f.Error())
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeFailure(w, f, r)
}

func (s *Server) finish(w *response, r *Request) {
	took := s.Clock.Since(r.ReceivedAt)
	code := w.status
	if r.Context().Err() != nil {
		code = statusClientClosed
	}
	s.metrics.requests.WithLabelValues(r.Route, strconv.Itoa(cmp.Or(r.countAs, code))).Inc()
	observe(s.metrics.seconds.WithLabelValues(r.Route), took.Seconds(), r.endSpan(code))
	if r.Principal.Team != nil {
		s.metrics.teams.WithLabelValues(s.TeamLabel(r.Team()), strconv.Itoa(code/100)+"xx").Inc()
		s.auditLine(r, cmp.Or(r.TeamStatus, code), took)
	}
}

// statusClientClosed is in logs and metrics if the client left before its answer.
const statusClientClosed = 499

// auditLine never contains a key, a token or a variable.
func (s *Server) auditLine(r *Request, code int, took time.Duration) {
	kind, who := r.sender()
	line := []any{
		"requestID", r.ID,
		"team", r.Team(),
		kind, who,
		"method", r.Method,
		"route", r.Route,
		"code", code,
		"milliseconds", took.Milliseconds(),
	}
	if subject := r.Principal.Sender.Subject; subject != "" {
		line = append(line, "subject", subject)
	}
	s.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.audit...)...)
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

// metrics have labels with few values.
type metrics struct {
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	notifications *prometheus.CounterVec
	teams         *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_http_requests_total",
			Help: "HTTP requests by route and status code.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "postflight_http_request_seconds",
			Help:    "Seconds from the receipt of an HTTP request to its answer, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 45, 60},
		}, []string{"route"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_notifications_total",
			Help: "Outcomes of notifications: one per matched Trigger, or no_match.",
		}, []string{"decision"}),
		teams: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_team_requests_total",
			Help: "HTTP requests with a valid key, by team and class of the status code.",
		}, []string{"team", "class"}),
	}
	for _, d := range decisions {
		m.notifications.WithLabelValues(string(d)) // so that a rate exists from the first one on
	}
	return m
}

// Collectors are the metrics of the server.
func (s *Server) Collectors() []prometheus.Collector {
	m := s.metrics
	return []prometheus.Collector{
		m.requests, m.seconds, m.notifications, m.teams,
		Gauge("postflight_http_requests_in_flight", "HTTP requests that are being answered.", s.InFlight.InUse),
		Gauge("postflight_http_requests_large", "Notifications that are being answered and have a large body, or are dry runs.", s.Large.InUse),
		Gauge("postflight_http_requests_listing", "Requests that read from the archive.", s.Archive.InUse),
	}
}

// Gauge returns a metric with the value that a function returns.
func Gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}
