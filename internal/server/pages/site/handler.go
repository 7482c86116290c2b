package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/origin"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// Request is an http.Request with its reader.
type Request struct {
	*http.Request
	SignedIn  bool
	proxied   bool // a proxy has authenticated the reader
	Identity  signin.Identity
	Access    signin.Access
	confirmed time.Time // when the access was looked up

	Team  *v1alpha1.Team // of the page; nil if it belongs to none
	Act   bool           // the reader may act on the runs of the team
	Audit []any          // attributes of its line in the audit log; nil: no line
	// Read is what a page reads only once while it is live, and Sent what the browser has of it.
	Read, Sent any
}

// Namespace is the namespace of the team, or "".
func (r *Request) Namespace() string {
	if r.Team == nil {
		return ""
	}
	return r.Team.NamespaceName()
}

// ServeHTTP accepts paths with and without the base path, which only some proxies remove.
func (s *Site) ServeHTTP(w http.ResponseWriter, httpRequest *http.Request) {
	setSecurityHeaders(w.Header())
	r := &Request{Request: httpRequest.WithContext(logr.NewContext(httpRequest.Context(), s.Log))}
	defer s.recoverPanic(w, r)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.Limits.WriteTimeout)) // tests have no connection
	if !s.hosts.Know(httpRequest.Host) {
		FailPlainly(w, http.StatusMisdirectedRequest, "This server does not answer to that name. Add it to --page-hosts.")
		return
	}
	inner, address := *r.Request, *r.URL // the headers are shared: to copy them would double what a live page keeps
	address.Path, address.RawPath = s.Public.Below(r.URL.Path), s.Public.Below(r.URL.RawPath)
	inner.URL = &address
	s.Mux.ServeHTTP(w, &inner)
}

func (s *Site) recoverPanic(w http.ResponseWriter, r *Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		s.Fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// setSecurityHeaders allows only files of this server, and nothing inline.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "+
		"connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept, Cookie")
}

func (s *Site) setPublic() (err error) {
	if s.Public, err = publicurl.Parse(s.PublicURL); err != nil {
		return fmt.Errorf("the public URL: %w", err)
	}
	s.hosts = origin.HostsOf(append(slices.Clone(s.Hosts), s.Public.Host)...)
	return nil
}

// Handle answers requests of readers who may see the team of the path.
func (s *Site) Handle(answer func(http.ResponseWriter, *Request) error) http.Handler {
	return s.HandleFor(s.Authorize, answer)
}

// HandleFor answers requests that authorize accepts. It sets the team.
func (s *Site) HandleFor(authorize func(*Request) error, answer func(http.ResponseWriter, *Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, httpRequest *http.Request) {
		r := &Request{Request: httpRequest}
		err := s.identify(r)
		if strings.HasPrefix(r.URL.Path, "/sign-") {
			err = nil // a reader who cannot be recognized may sign out, and in again
		}
		if err == nil {
			err = authorize(r)
		}
		if err == nil && r.Method == http.MethodPost {
			err = s.parseForm(w, r) // before the limits, because it may be slow
		}
		if err == nil {
			err = s.limited(r, func() error { return answer(w, r) })
		}
		s.auditLine(r, err)
		if errors.Is(err, ErrSignIn) {
			s.Redirect(w, r, "/sign-in?next="+url.QueryEscape(r.URL.RequestURI()))
		} else if err != nil {
			s.Fail(w, r, err)
		}
	})
}

// ErrSignIn redirects a visitor to the page for signing in, whether the page exists or not.
var ErrSignIn = errors.New("sign in")

// Authorize finds the team of the path, if the reader may see it.
func (s *Site) Authorize(r *Request) error {
	namespace := r.PathValue("namespace")
	r.Team, r.Act = nil, false
	for _, t := range r.Access.Teams {
		if namespace == "" || t.Team.NamespaceName() == namespace {
			r.Team, r.Act = t.Team, t.Act
			s.Authenticated(r.Context(), t.Team.Name)
			return nil
		}
	}
	if namespace == "" {
		return nil
	}
	team, err := index.Owner(r.Context(), s.Cache, namespace)
	switch {
	case err != nil:
		return err
	case team != nil && team.Spec.PublicPages && !team.Spec.Suspended:
		r.Team = team
		return nil
	case r.SignedIn:
		return NotFound()
	default:
		return ErrSignIn
	}
}

func (s *Site) parseForm(w http.ResponseWriter, r *Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, s.Limits.FormBytes)
	if err := r.ParseForm(); err != nil {
		return BadRequest("The form is too long or cannot be read.")
	}
	return nil
}

func (s *Site) limited(r *Request, answer func() error) error {
	limiter, team := s.rendering, r.Namespace()
	switch {
	case strings.HasPrefix(r.URL.Path, "/files/"):
		limiter, team = s.sending, s.FileOwner(r) // often there is no cookie
	case strings.HasSuffix(r.URL.Path, "/log/text"):
		limiter = s.sending
	case strings.HasPrefix(r.URL.Path, "/sign-in/"):
		limiter = s.visiting
	case isStream(r):
		limiter = s.streaming
		if strings.HasSuffix(r.URL.Path, "/log/live") {
			limiter = s.SendingLogs
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.streamFor(r))
		defer cancel()
		r.Request = r.WithContext(ctx)
	}
	if !limiter.TryAcquire(team) {
		return Overloaded()
	}
	defer limiter.Release(team)
	if !r.SignedIn && r.Team != nil {
		s.Authenticated(r.Context(), r.Team.Name) // counts the connections of visitors for the team
	}
	return answer()
}

// Redirect sends the browser to a path of this site.
func (s *Site) Redirect(w http.ResponseWriter, r *Request, path string) {
	http.Redirect(w, r.Request, s.Public.Base+path, http.StatusSeeOther)
}

// auditLine logs who did what. Requests that only read have no line.
func (s *Site) auditLine(r *Request, err error) {
	if r.Audit == nil {
		return
	}
	kind, who := "person", r.Access.Name
	if r.Access.Key != "" {
		kind, who = "key", r.Access.Key
	}
	line := []any{kind, who, "signedInBy", r.Identity.Kind, "method", r.Method, "route", r.Pattern, "code", codeOf(err)}
	if r.Team != nil {
		line = append(line, "team", r.Team.Name)
	}
	s.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.Audit...)...)
}

// codeOf returns the status of the answer to an action. A successful one redirects.
func codeOf(err error) int {
	var p *Problem
	switch {
	case err == nil:
		return http.StatusSeeOther
	case errors.As(err, &p):
		return p.Status
	default:
		return http.StatusInternalServerError
	}
}
