package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

const providerTimeout = 10 * time.Second

// retryProvider is how long a provider that is unavailable or refused a token is not asked again.
const retryProvider = time.Second

// OIDC signs people in with an OpenID Connect provider, by the code flow with PKCE.
type OIDC struct {
	Config OIDCConfig

	mu       sync.Mutex
	provider *oidc.Provider
	away     error     // why it could not be asked
	retry    time.Time // when to ask it again

	people peopleCache
	asking singleflight.Group // by token

	logoutOnce sync.Once
	logouts    *oidc.IDTokenVerifier
}

// errSignedOut means that the provider has ended the session.
var errSignedOut = errors.New("the provider has ended the session")

// newOIDC returns a client, which asks the provider for its keys when the first person signs in.
func newOIDC(c OIDCConfig) *OIDC {
	return &OIDC{Config: c, people: peopleCache{byToken: map[string]checked{}}}
}

// Attempt is what a browser has to remember while its person signs in.
type Attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Callback string `json:"c"`
}

// Session is the session of a person at the provider. The token is a secret.
type Session struct {
	Token   string    `json:"t"`
	Subject string    `json:"s"`           // whose token it is
	ID      string    `json:"i,omitempty"` // by which the provider names the session when it ends; empty if it does not
	Begun   time.Time `json:"b"`           // by the clock of the provider
	Issuer  string    `json:"p"`           // of the token, which no other one gets
	Expires time.Time `json:"-"`           // of the token; zero if the provider does not say
}

// Begin returns where to send the browser, which comes back to the callback.
func (o *OIDC) Begin(ctx context.Context, callback string) (string, Attempt, error) {
	a := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Callback: callback}
	client, err := o.client(ctx, callback)
	if err != nil {
		return "", Attempt{}, err
	}
	return client.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Finish exchanges what the browser brought back.
func (o *OIDC) Finish(ctx context.Context, a Attempt, query url.Values) (Session, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(a.State)) != 1 {
		return Session{}, errors.New("this answer belongs to another attempt")
	}
	if problem := query.Get("error"); problem != "" {
		return Session{}, fmt.Errorf("the provider answered %q", problem)
	}
	client, err := o.client(ctx, a.Callback)
	if err != nil {
		return Session{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	token, err := client.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Session{}, fmt.Errorf("exchange the code: %w", err)
	}
	return o.verify(ctx, token, a.Nonce)
}

// verify checks the signature, the issuer and the audience of the identity token, and that it answers this attempt.
func (o *OIDC) verify(ctx context.Context, token *oauth2.Token, nonce string) (Session, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Session{}, errors.New("the provider sent no id_token; is openid among the scopes?")
	}
	provider, err := o.discover(ctx)
	if err != nil {
		return Session{}, err
	}
	id, err := provider.Verifier(&oidc.Config{ClientID: o.Config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return Session{}, fmt.Errorf("verify the id_token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return Session{}, errors.New("the id_token belongs to another attempt")
	}
	var claims struct {
		ID string `json:"sid"`
	}
	if err := id.Claims(&claims); err != nil {
		return Session{}, fmt.Errorf("read the id_token: %w", err)
	}
	return Session{
		Token: token.AccessToken, Subject: id.Subject, ID: claims.ID, Begun: id.IssuedAt, Issuer: o.Config.Issuer, Expires: token.Expiry,
	}, nil
}

// Check returns the person of a session. It remembers the answer for a while. The error is errSignedOut if the token is refused.
func (o *OIDC) Check(ctx context.Context, s Session, now time.Time) (Person, error) {
	if s.Issuer != o.Config.Issuer {
		return Person{}, errSignedOut
	}
	if known, ok := o.people.get(s.Token, now); ok {
		return known.person, known.err
	}
	// The requests of a page come together, and the browser may give up the request that asks.
	answer := o.asking.DoChan(s.Token, func() (any, error) {
		p, err := o.ask(context.WithoutCancel(ctx), s)
		until := now.Add(o.Config.recheck)
		if err != nil {
			until = now.Add(retryProvider)
		}
		o.people.put(s.Token, checked{p, err, until})
		return p, err
	})
	select {
	case <-ctx.Done():
		return Person{}, ctx.Err()
	case a := <-answer:
		return a.Val.(Person), a.Err
	}
}

func (o *OIDC) ask(ctx context.Context, s Session) (Person, error) {
	provider, err := o.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.Token}))
	if err != nil {
		return Person{}, o.refusal(ctx, err)
	}
	if info.Subject != s.Subject {
		return Person{}, errSignedOut
	}
	claims := map[string]any{}
	if err := info.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("read the claims: %w", err)
	}
	return o.person(claims, info.Subject), nil
}

// refusal recognizes a refused token by the status with which go-oidc begins the message.
func (o *OIDC) refusal(ctx context.Context, err error) error {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		if ctx.Err() == nil && strings.HasPrefix(err.Error(), strconv.Itoa(status)+" ") {
			return errSignedOut
		}
	}
	return fmt.Errorf("ask the provider: %w", err)
}

func (o *OIDC) person(claims map[string]any, subject string) Person {
	p := Person{Name: subject}
	if name, ok := claims[o.Config.NameClaim].(string); ok && name != "" {
		p.Name = name
	}
	switch groups := claims[o.Config.GroupsClaim].(type) {
	case string:
		p.Groups = []string{groups}
	case []any:
		for _, g := range groups {
			if name, ok := g.(string); ok {
				p.Groups = append(p.Groups, name)
			}
		}
	}
	return p
}

func (o *OIDC) client(ctx context.Context, callback string) (*oauth2.Config, error) {
	provider, err := o.discover(ctx)
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{
		ClientID: o.Config.ClientID, ClientSecret: o.Config.secret, Endpoint: provider.Endpoint(),
		RedirectURL: callback, Scopes: o.Config.Scopes,
	}, nil
}

// discover asks for the endpoints until the provider has answered once.
func (o *OIDC) discover(ctx context.Context) (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider != nil {
		return o.provider, nil
	}
	if time.Now().Before(o.retry) {
		return nil, o.away
	}
	client := &http.Client{Timeout: providerTimeout}
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), o.Config.Issuer)
	if err != nil {
		o.away, o.retry = fmt.Errorf("ask the provider of identities: %w", err), time.Now().Add(retryProvider)
		return nil, o.away
	}
	o.provider = provider
	return provider, nil
}
