package site

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

const (
	// SessionCookie is the name of the cookie that keeps a session.
	SessionCookie  = "postflight_session"
	sessionPurpose = "session"
	maxCookie      = 3900 // what browsers keep, in bytes, less the name and the attributes
)

// identify finds who sent the request. After the session ended or the key was revoked, the reader is not signed in.
func (s *Site) identify(r *Request) error {
	if id, ok := s.Authenticator.FromProxy(r.Request); ok {
		// The hour keeps the links of a page the same while it is open: see grant.
		id.Expires = s.Clock.Now().Truncate(time.Hour).Add(s.Limits.ProxiedFilesFor)
		r.proxied = true
		return s.Recognize(r, id)
	}
	cookie, err := r.Cookie(SessionCookie)
	if err != nil {
		return nil
	}
	var id signin.Identity
	if err := s.Sealer.Unseal(r.Context(), sessionPurpose, cookie.Value, &id); err != nil {
		return IgnoreSeal(err, nil)
	}
	return s.Recognize(r, id)
}

func (s *Site) secret(ctx context.Context) ([]byte, error) {
	secret, err := s.SealingKey(ctx)
	if err != nil {
		return nil, &Problem{Status: http.StatusServiceUnavailable, Title: "Signing in is not possible right now",
			Text: "The secret that protects sessions cannot be read. Try again in a minute.", Cause: err}
	}
	return secret, nil
}

// IgnoreSeal replaces the error of a cookie that was sealed with another key or for another purpose.
func IgnoreSeal(err, otherwise error) error {
	if errors.Is(err, seal.ErrSeal) {
		return otherwise
	}
	return err
}

// Recognize looks up what a person may see. Without access, the reader is not signed in.
func (s *Site) Recognize(r *Request, id signin.Identity) error {
	r.SignedIn, r.Access = false, signin.Access{}
	if !s.Clock.Now().Before(id.Expires) {
		return nil
	}
	access, err := s.Authenticator.Access(r.Context(), id)
	status := StatusOf(err)
	switch {
	case err == nil:
		r.SignedIn, r.Access, r.Identity, r.confirmed = true, access, id, s.Clock.Now()
		return nil
	case status == http.StatusUnauthorized:
		return nil
	default:
		return AuthProblem(status, err)
	}
}

// StartSession signs a person in.
func (s *Site) StartSession(ctx context.Context, w http.ResponseWriter, id signin.Identity) error {
	if latest := s.Clock.Now().Add(s.Limits.SessionFor); id.Expires.IsZero() || id.Expires.After(latest) {
		id.Expires = latest
	}
	value, err := s.Sealer.Seal(ctx, sessionPurpose, id)
	if err != nil {
		return err
	}
	if len(value) > maxCookie {
		return &Problem{Status: http.StatusBadGateway, Title: "You cannot be signed in",
			Text: "The token of your identity provider is too long for a cookie. Ask the operator to let it issue shorter access tokens."}
	}
	cookie := s.Cookie(value)
	cookie.Expires = id.Expires
	http.SetCookie(w, cookie)
	return nil
}

// ForgetCookie removes a cookie.
func (s *Site) ForgetCookie(w http.ResponseWriter, name string) {
	cookie := s.Cookie("")
	cookie.Name, cookie.MaxAge = name, -1
	http.SetCookie(w, cookie)
}

// Cookie is the session cookie with a value.
func (s *Site) Cookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: SessionCookie, Value: value, Path: s.Public.Base + "/",
		HttpOnly: true, Secure: s.Public.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// StatusOf returns the status of an Authenticator's error; 0 without one.
func StatusOf(err error) int {
	var named interface{ HTTPStatus() int }
	if errors.As(err, &named) {
		return named.HTTPStatus()
	}
	return 0
}

// AuthProblem is the answer to an error of the Authenticator with a status.
func AuthProblem(status int, err error) error {
	switch status {
	case http.StatusForbidden:
		return &Problem{Status: status, Title: "Your team is suspended", Text: "Ask the operator of this service to enable it.", Cause: err}
	case http.StatusServiceUnavailable:
		return &Problem{Status: status, Title: "The cluster cannot be reached",
			Text: "Nobody can be signed in at the moment. Try again in a minute.", Cause: err}
	default:
		return err
	}
}
