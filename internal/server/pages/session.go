package pages

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

const (
	sessionCookie  = "postflight_session"
	sessionPurpose = "session"
	maxCookie      = 3900 // what browsers keep, in bytes, less the name and the attributes
)

// identify finds who sent the request. A reader whose session ended or whose key was revoked is not signed in.
func (u *UI) identify(r *request) error {
	if id, ok := u.Authenticator.FromProxy(r.Request); ok {
		// The hour keeps the links of a page the same while it is open: see grant.
		id.Expires = u.Clock.Now().Truncate(time.Hour).Add(u.Limits.ProxiedFilesFor)
		r.proxied = true
		return u.recognize(r, id)
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	var id signin.Identity
	if err := u.sealer.Unseal(r.Context(), sessionPurpose, cookie.Value, &id); err != nil {
		return ignoreSeal(err, nil)
	}
	return u.recognize(r, id)
}

func (u *UI) secret(ctx context.Context) ([]byte, error) {
	secret, err := u.SealingKey(ctx)
	if err != nil {
		return nil, &problem{Status: http.StatusServiceUnavailable, Title: "Signing in is not possible right now",
			Text: "The secret that protects sessions cannot be read. Try again in a minute.", cause: err}
	}
	return secret, nil
}

// ignoreSeal replaces the error of a cookie that was sealed with another key or for another purpose.
func ignoreSeal(err, otherwise error) error {
	if errors.Is(err, seal.ErrSeal) {
		return otherwise
	}
	return err
}

func (u *UI) recognize(r *request, id signin.Identity) error {
	r.signedIn, r.access = false, signin.Access{}
	if !u.Clock.Now().Before(id.Expires) {
		return nil
	}
	access, err := u.Authenticator.Access(r.Context(), id)
	switch status := statusOf(err); {
	case err == nil:
		r.signedIn, r.access, r.identity, r.confirmed = true, access, id, u.Clock.Now()
		return nil
	case status == http.StatusUnauthorized:
		return nil
	default:
		return authProblem(status, err)
	}
}

func (u *UI) startSession(ctx context.Context, w http.ResponseWriter, id signin.Identity) error {
	if latest := u.Clock.Now().Add(u.Limits.SessionFor); id.Expires.IsZero() || id.Expires.After(latest) {
		id.Expires = latest
	}
	value, err := u.sealer.Seal(ctx, sessionPurpose, id)
	if err != nil {
		return err
	}
	if len(value) > maxCookie {
		return &problem{Status: http.StatusBadGateway, Title: "You cannot be signed in",
			Text: "The token of your identity provider is too long for a cookie. Ask the operator to let it issue shorter access tokens."}
	}
	cookie := u.cookie(value)
	cookie.Expires = id.Expires
	http.SetCookie(w, cookie)
	return nil
}

func (u *UI) forgetCookie(w http.ResponseWriter, name string) {
	cookie := u.cookie("")
	cookie.Name, cookie.MaxAge = name, -1
	http.SetCookie(w, cookie)
}

func (u *UI) cookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: u.public.Base + "/",
		HttpOnly: true, Secure: u.public.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// statusOf returns the status of an Authenticator's error; 0 without one.
func statusOf(err error) int {
	var named interface{ HTTPStatus() int }
	if errors.As(err, &named) {
		return named.HTTPStatus()
	}
	return 0
}

// adviceOf returns what the sender of a key can do, or "".
func adviceOf(err error) string {
	if named, ok := errors.AsType[*auth.Error](err); ok {
		return named.Advice()
	}
	return ""
}

func authProblem(status int, err error) error {
	switch status {
	case http.StatusForbidden:
		return &problem{Status: status, Title: "Your team is suspended", Text: "Ask the operator of this service to enable it.", cause: err}
	case http.StatusServiceUnavailable:
		return &problem{Status: status, Title: "The cluster cannot be reached",
			Text: "Nobody can be signed in at the moment. Try again in a minute.", cause: err}
	default:
		return err
	}
}
