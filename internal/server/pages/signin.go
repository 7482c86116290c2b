package pages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
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

func (u *UI) signInPage(r *request) (*page, error) {
	return &page{template: "signin", Title: "Sign in", Data: u.signInData(r.URL.Query().Get("next"), "")}, nil
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

func (u *UI) signIn(w http.ResponseWriter, r *request) error {
	next := r.PostForm.Get("next")
	id, err := u.Authenticator.SignIn(r.Context(), r.PostForm.Get("key"))
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized:
		u.send(w, r, http.StatusUnauthorized, &page{template: "signin", Title: "Sign in",
			Data: u.signInData(next, cmp.Or(adviceOf(err), "This key is not accepted. It may be mistyped or revoked."))})
		return nil
	case err != nil:
		return authProblem(status, err)
	}
	if r.access, err = u.Authenticator.Access(r.Context(), id); err != nil {
		return authProblem(statusOf(err), err)
	}
	return u.welcome(w, r, id, next)
}

func (u *UI) signOut(w http.ResponseWriter, r *request) error {
	if r.signedIn {
		r.audit = []any{}
	}
	u.forgetCookie(w, sessionCookie)
	u.redirect(w, r, "/")
	return nil
}

func (u *UI) visitProvider(w http.ResponseWriter, r *request) error {
	if u.providerName() == "" {
		return notFound()
	}
	address, memo, err := u.Provider.Begin(r.Context(), publicurl.Join(u.PublicURL, "/sign-in/callback"))
	if err != nil {
		return &problem{Status: http.StatusServiceUnavailable, Title: "Your identity provider cannot be reached", Text: "Try again in a minute.", cause: err}
	}
	value, err := u.sealer.Seal(r.Context(), attemptPurpose, attempt{memo, r.URL.Query().Get("next"), u.Clock.Now().Add(attemptFor)})
	if err != nil {
		return err
	}
	cookie := u.cookie(value)
	cookie.Name, cookie.MaxAge = attemptCookie, int(attemptFor.Seconds())
	http.SetCookie(w, cookie)
	http.Redirect(w, r.Request, address, http.StatusSeeOther)
	return nil
}

func (u *UI) returnFromProvider(w http.ResponseWriter, r *request) error {
	late := &problem{Status: http.StatusBadRequest, Title: "You are not signed in", Text: "You took too long, or your browser blocks cookies. Try again."}
	cookie, err := r.Cookie(attemptCookie)
	if u.providerName() == "" || err != nil {
		return late
	}
	var a attempt
	if err := u.sealer.Unseal(r.Context(), attemptPurpose, cookie.Value, &a); err != nil {
		return ignoreSeal(err, badRequest("Your browser sent what this server does not know. Try to sign in again."))
	}
	u.forgetCookie(w, attemptCookie)
	if u.Clock.Now().After(a.Until) {
		return late
	}
	id, err := u.Provider.Finish(r.Context(), a.Memo, r.URL.Query())
	if err != nil {
		return &problem{Status: http.StatusUnauthorized, Title: "You are not signed in",
			Text: "Your identity provider did not confirm who you are. Try again.", cause: err}
	}
	if r.access, err = u.Authenticator.Access(r.Context(), id); err != nil {
		return &problem{Status: http.StatusForbidden, Title: "None of your groups may see a team",
			Text: "Ask the operator of this service to grant a team to one of your groups.", cause: err}
	}
	return u.welcome(w, r, id, a.Next)
}

// providerLogout is OpenID Connect Back-Channel Logout: the provider says which sessions have ended.
func (u *UI) providerLogout(w http.ResponseWriter, r *request) error {
	if u.providerName() == "" {
		return notFound()
	}
	err := u.Provider.Logout(r.Context(), r.PostForm.Get("logout_token"))
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
		return nil
	case statusOf(err) == 0:
		return &problem{Status: http.StatusBadRequest, Title: "Nothing was ended", Text: "The logout token is not one of the provider.", cause: err}
	default:
		return &problem{Status: http.StatusServiceUnavailable, Title: "Nothing was ended", Text: "Send the logout token again.", cause: err}
	}
}

func (u *UI) welcome(w http.ResponseWriter, r *request, id signin.Identity, next string) error {
	r.identity, r.audit = id, []any{}
	if err := u.startSession(r.Context(), w, id); err != nil {
		return err
	}
	u.redirect(w, r, localPath(next))
	return nil
}
