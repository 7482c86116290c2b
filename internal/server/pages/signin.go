package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

const (
	attemptCookie  = "postflight_sign_in"
	attemptPurpose = "sign-in"
	attemptFor     = 10 * time.Minute // how long a person may take on the provider's page
)

// attempt is what a browser remembers while its person signs in elsewhere.
type attempt struct {
	Memo  json.RawMessage `json:"m"`
	Next  string          `json:"n"`
	Until time.Time       `json:"u"`
}

type signInData struct {
	Next     string
	Problem  string
	Provider string // what its button says; empty without one
}

func (u *UI) signInPage(r *site.Request) (*site.Page, error) {
	return &site.Page{Template: "signin", Title: "Sign in", Data: u.signInData(r.URL.Query().Get("next"), "")}, nil
}

func (u *UI) signInData(next, problem string) signInData {
	return signInData{Next: next, Problem: problem, Provider: u.providerName()}
}

func (u *UI) providerName() string {
	if u.Provider == nil {
		return ""
	}
	return u.Provider.Name()
}

func (u *UI) signIn(w http.ResponseWriter, r *site.Request) error {
	next := r.PostForm.Get("next")
	id, err := u.Authenticator.SignIn(r.Context(), r.PostForm.Get("key"))
	status := site.StatusOf(err)
	switch {
	case status == http.StatusUnauthorized:
		u.Send(w, r, http.StatusUnauthorized, &site.Page{Template: "signin", Title: "Sign in",
			Data: u.signInData(next, cmp.Or(adviceOf(err), "This key is not accepted. It may be mistyped or revoked."))})
		return nil
	case err != nil:
		return site.AuthProblem(status, err)
	}
	if r.Access, err = u.Authenticator.Access(r.Context(), id); err != nil {
		return site.AuthProblem(site.StatusOf(err), err)
	}
	return u.welcome(w, r, id, next)
}

func (u *UI) signOut(w http.ResponseWriter, r *site.Request) error {
	if r.SignedIn {
		r.Audit = []any{}
	}
	u.ForgetCookie(w, site.SessionCookie)
	u.Redirect(w, r, "/")
	return nil
}

func (u *UI) visitProvider(w http.ResponseWriter, r *site.Request) error {
	if u.providerName() == "" {
		return site.NotFound()
	}
	address, memo, err := u.Provider.Begin(r.Context(), publicurl.Join(u.PublicURL, "/sign-in/callback"))
	if err != nil {
		return &site.Problem{Status: http.StatusServiceUnavailable, Title: "Your identity provider cannot be reached",
			Text: "Try again in a minute.", Cause: err}
	}
	value, err := u.Sealer.Seal(r.Context(), attemptPurpose, attempt{memo, r.URL.Query().Get("next"), u.Clock.Now().Add(attemptFor)})
	if err != nil {
		return err
	}
	cookie := u.Cookie(value)
	cookie.Name, cookie.MaxAge = attemptCookie, int(attemptFor.Seconds())
	http.SetCookie(w, cookie)
	http.Redirect(w, r.Request, address, http.StatusSeeOther)
	return nil
}

func (u *UI) returnFromProvider(w http.ResponseWriter, r *site.Request) error {
	late := &site.Problem{Status: http.StatusBadRequest, Title: "You are not signed in",
		Text: "You took too long, or your browser blocks cookies. Try again."}
	cookie, err := r.Cookie(attemptCookie)
	if u.providerName() == "" || err != nil {
		return late
	}
	var a attempt
	if err := u.Sealer.Unseal(r.Context(), attemptPurpose, cookie.Value, &a); err != nil {
		return site.IgnoreSeal(err, site.BadRequest("Your browser sent what this server does not know. Try to sign in again."))
	}
	u.ForgetCookie(w, attemptCookie)
	if u.Clock.Now().After(a.Until) {
		return late
	}
	id, err := u.Provider.Finish(r.Context(), a.Memo, r.URL.Query())
	if err != nil {
		return &site.Problem{Status: http.StatusUnauthorized, Title: "You are not signed in",
			Text: "Your identity provider did not confirm who you are. Try again.", Cause: err}
	}
	if r.Access, err = u.Authenticator.Access(r.Context(), id); err != nil {
		return &site.Problem{Status: http.StatusForbidden, Title: "None of your groups may see a team",
			Text: "Ask the operator of this service to grant a team to one of your groups.", Cause: err}
	}
	return u.welcome(w, r, id, a.Next)
}

// providerLogout is OpenID Connect Back-Channel Logout: the provider says which sessions have ended.
func (u *UI) providerLogout(w http.ResponseWriter, r *site.Request) error {
	if u.providerName() == "" {
		return site.NotFound()
	}
	err := u.Provider.Logout(r.Context(), r.PostForm.Get("logout_token"))
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
		return nil
	case site.StatusOf(err) == 0:
		return &site.Problem{Status: http.StatusBadRequest, Title: "Nothing was ended", Text: "The logout token is not one of the provider.",
			Cause: err}
	default:
		return &site.Problem{Status: http.StatusServiceUnavailable, Title: "Nothing was ended", Text: "Send the logout token again.", Cause: err}
	}
}

func (u *UI) welcome(w http.ResponseWriter, r *site.Request, id signin.Identity, next string) error {
	r.Identity, r.Audit = id, []any{}
	if err := u.StartSession(r.Context(), w, id); err != nil {
		return err
	}
	u.Redirect(w, r, localPath(next))
	return nil
}

// adviceOf returns what the sender of a key can do, or "".
func adviceOf(err error) string {
	if named, ok := errors.AsType[*auth.Error](err); ok {
		return named.Advice()
	}
	return ""
}

// localPath keeps a path of this server, and replaces anything else by the path of the runs.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n\t") ||
		strings.HasPrefix(next, "//") || path.Clean(u.Path) != u.Path {
		return "/runs"
	}
	return next
}

// Provider is a signin.Provider. The error of a token that ends no session has no method HTTPStatus.
type Provider interface {
	Name() string
	Begin(ctx context.Context, callback string) (url string, memo json.RawMessage, err error)
	Finish(ctx context.Context, memo json.RawMessage, query url.Values) (signin.Identity, error)
	Logout(ctx context.Context, token string) error
}
