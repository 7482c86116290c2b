package pages

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	"github.com/postflight-dev/postflight/internal/server/signin"
)

type request struct {
	*http.Request
	signedIn  bool
	proxied   bool // a proxy has authenticated the reader
	identity  signin.Identity
	access    signin.Access
	confirmed time.Time // when the access was looked up

	team  *v1alpha1.Team // of the page; nil where it belongs to none
	act   bool           // the reader may act on the runs of the team
	audit []any          // attributes of its line in the audit log; nil: no line
	// logRead is the log of the page without its lines, and logSent the one that a live page has sent.
	logRead, logSent *logData
}

func (r *request) namespace() string {
	if r.team == nil {
		return ""
	}
	return r.team.NamespaceName()
}

// ServeHTTP accepts paths with and without the base path, which only some proxies remove.
func (u *UI) ServeHTTP(w http.ResponseWriter, httpRequest *http.Request) {
	setSecurityHeaders(w.Header())
	r := &request{Request: httpRequest.WithContext(logr.NewContext(httpRequest.Context(), u.Log))}
	defer u.recoverPanic(w, r)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(u.Limits.WriteTimeout)) // tests have no connection
	if !u.knowsHost(httpRequest.Host) {
		failPlainly(w, http.StatusMisdirectedRequest, "This server does not answer to that name. Add it to --page-hosts.")
		return
	}
	inner, address := *r.Request, *r.URL // the headers are shared: to copy them would double what a live page keeps
	address.Path, address.RawPath = u.public.Below(r.URL.Path), u.public.Below(r.URL.RawPath)
	inner.URL = &address
	u.mux.ServeHTTP(w, &inner)
}

func (u *UI) recoverPanic(w http.ResponseWriter, r *request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		u.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
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

func (u *UI) setPublic() (err error) {
	if u.public, err = publicurl.Parse(u.PublicURL); err != nil {
		return fmt.Errorf("the public URL: %w", err)
	}
	u.hosts = map[string]bool{}
	for _, host := range append(slices.Clone(u.Hosts), u.public.Host) {
		if host != "" {
			u.hosts[strings.ToLower(host)] = true
		}
	}
	return nil
}

// knowsHost refuses names of other sites that resolve to this server. No such site can have the names of this machine.
func (u *UI) knowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	address := net.ParseIP(host)
	return len(u.hosts) == 0 || u.hosts[host] || host == "localhost" || address != nil && address.IsLoopback()
}

func (u *UI) handle(answer func(http.ResponseWriter, *request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, httpRequest *http.Request) {
		r := &request{Request: httpRequest}
		err := u.identify(r)
		if strings.HasPrefix(r.URL.Path, "/sign-") {
			err = nil // a reader who cannot be recognized may sign out, and in again
		}
		if err == nil {
			err = u.authorize(r)
		}
		if err == nil && r.Method == http.MethodPost {
			err = u.parseForm(w, r) // before the limits, because it may be slow
		}
		if err == nil {
			err = u.limited(r, func() error { return answer(w, r) })
		}
		u.auditLine(r, err)
		if errors.Is(err, errSignIn) {
			u.redirect(w, r, "/sign-in?next="+url.QueryEscape(r.URL.RequestURI()))
		} else if err != nil {
			u.fail(w, r, err)
		}
	})
}

// errSignIn redirects a visitor to the page for signing in, whether the page exists or not.
var errSignIn = errors.New("sign in")

func (u *UI) authorize(r *request) error {
	namespace := r.PathValue("namespace")
	r.team, r.act = nil, false
	for _, t := range r.access.Teams {
		if namespace == "" || t.Team.NamespaceName() == namespace {
			r.team, r.act = t.Team, t.Act
			u.Authenticated(r.Context(), t.Team.Name)
			return nil
		}
	}
	if namespace == "" {
		return nil
	}
	team, err := index.Owner(r.Context(), u.Cache, namespace)
	switch {
	case err != nil:
		return err
	case team != nil && team.Spec.PublicPages && !team.Spec.Suspended:
		r.team = team
		return nil
	case r.signedIn:
		return notFound()
	default:
		return errSignIn
	}
}

func (u *UI) parseForm(w http.ResponseWriter, r *request) error {
	r.Body = http.MaxBytesReader(w, r.Body, u.Limits.FormBytes)
	if err := r.ParseForm(); err != nil {
		return badRequest("The form is too long or cannot be read.")
	}
	return nil
}

func (u *UI) limited(r *request, answer func() error) error {
	limiter, team := u.rendering, r.namespace()
	switch {
	case strings.HasPrefix(r.URL.Path, "/files/"):
		limiter, team = u.sending, u.namespaceOfGrant(r) // often there is no cookie
	case strings.HasSuffix(r.URL.Path, "/log/text"):
		limiter = u.sending
	case strings.HasPrefix(r.URL.Path, "/sign-in/"):
		limiter = u.visiting
	case isStream(r):
		limiter = u.streaming
		if strings.HasSuffix(r.URL.Path, "/log/live") {
			limiter = u.SendingLogs
		}
		ctx, cancel := context.WithTimeout(r.Context(), u.streamFor(r))
		defer cancel()
		r.Request = r.WithContext(ctx)
	}
	if !limiter.TryAcquire(team) {
		return overloaded()
	}
	defer limiter.Release(team)
	if !r.signedIn && r.team != nil {
		u.Authenticated(r.Context(), r.team.Name) // counts the connections of visitors for the team
	}
	return answer()
}

func (u *UI) redirect(w http.ResponseWriter, r *request, path string) {
	http.Redirect(w, r.Request, u.public.Base+path, http.StatusSeeOther)
}

// auditLine logs who did what. Requests that only read have no line.
func (u *UI) auditLine(r *request, err error) {
	if r.audit == nil {
		return
	}
	kind, who := "person", r.access.Name
	if r.access.Key != "" {
		kind, who = "key", r.access.Key
	}
	line := []any{kind, who, "signedInBy", r.identity.Kind, "method", r.Method, "route", r.Pattern, "code", codeOf(err)}
	if r.team != nil {
		line = append(line, "team", r.team.Name)
	}
	u.Audit.InfoContext(context.WithoutCancel(r.Context()), "request", append(line, r.audit...)...)
}

// codeOf returns the status of the answer to an action. A successful one redirects.
func codeOf(err error) int {
	var p *problem
	switch {
	case err == nil:
		return http.StatusSeeOther
	case errors.As(err, &p):
		return p.Status
	default:
		return http.StatusInternalServerError
	}
}
