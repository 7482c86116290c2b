package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/openid"
	"github.com/ory/fosite/storage"
	"github.com/ory/fosite/token/jwt"
)

const (
	clientID = "postflight"
	keyID    = "key-1"
	user     = "anna"
	password = "correct horse"
	email    = "anna@example.com"
)

// provider is an OpenID Connect provider: the library behind Ory Hydra, and a page that asks for a password. Its one
// person is in the groups that a test says.
type provider struct {
	t      *testing.T
	url    string
	oauth  fosite.OAuth2Provider
	store  *storage.MemoryStore
	key    *rsa.PrivateKey
	logout string // where the client wants logout tokens

	mu       sync.Mutex
	groups   []string
	sessions []string // that were begun
}

// newProvider listens on another site than the manager, and sends people back to the public URL.
func newProvider(t *testing.T, publicURL string, groups ...string) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, store: storage.NewMemoryStore(), key: key, groups: groups, logout: publicURL + "/sign-in/back-channel-logout"}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	p.store.Users[user] = storage.MemoryUserRelation{Username: user, Password: password}
	p.store.Clients[clientID] = &fosite.DefaultClient{
		ID: clientID, Public: true, RedirectURIs: []string{publicURL + "/sign-in/callback"},
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "email", "groups"},
	}
	config := &fosite.Config{
		GlobalSecret: []byte(rand.Text() + rand.Text()), IDTokenIssuer: p.url, EnforcePKCE: true, AccessTokenLifespan: time.Hour,
	}
	keyOf := func(context.Context) (any, error) { return key, nil }
	p.oauth = compose.Compose(config, p.store,
		&compose.CommonStrategy{
			CoreStrategy:               compose.NewOAuth2HMACStrategy(config),
			OpenIDConnectTokenStrategy: compose.NewOpenIDConnectStrategy(keyOf, config),
		},
		compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2PKCEFactory, compose.OpenIDConnectExplicitFactory, compose.OAuth2TokenIntrospectionFactory)
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.loginPage)
	mux.HandleFunc("POST /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	return p
}

func (p *provider) setGroups(groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups = groups
}

func (p *provider) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Error(err)
	}
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.answer(w, map[string]any{
		"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token", "jwks_uri": p.url + "/keys",
		"userinfo_endpoint": p.url + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
		"backchannel_logout_supported": true, "backchannel_logout_session_supported": true,
	})
}

func (p *provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: keyID, Algorithm: "RS256", Use: "sig"}}})
}

var loginPage = template.Must(template.New("").Parse(`<!doctype html><title>Example Inc.</title>
<form method="post"><input name="user"><input name="password" type="password"><button>Log in</button></form>{{.}}`))

func (p *provider) loginPage(w http.ResponseWriter, r *http.Request) {
	if request, err := p.oauth.NewAuthorizeRequest(r.Context(), r); err != nil {
		p.oauth.WriteAuthorizeError(r.Context(), w, request, err)
		return
	}
	_ = loginPage.Execute(w, "")
}

// authorize answers the form, whose address has the request of the client.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	_, authErr := p.store.Authenticate(ctx, r.PostFormValue("user"), r.PostFormValue("password"))
	r.Form, r.PostForm, r.Body = nil, nil, http.NoBody
	r.Method = http.MethodGet
	request, err := p.oauth.NewAuthorizeRequest(ctx, r)
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	if authErr != nil {
		_ = loginPage.Execute(w, "Wrong user or password.")
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	response, err := p.oauth.NewAuthorizeResponse(ctx, request, p.begin())
	if err != nil {
		p.oauth.WriteAuthorizeError(ctx, w, request, err)
		return
	}
	p.oauth.WriteAuthorizeResponse(ctx, w, request, response)
}

func (p *provider) begin() *openid.DefaultSession {
	id, now := rand.Text(), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, id)
	return &openid.DefaultSession{
		Subject: user, Username: user, Headers: &jwt.Headers{Extra: map[string]any{"kid": keyID}},
		Claims: &jwt.IDTokenClaims{Subject: user, RequestedAt: now, AuthTime: now, Extra: map[string]any{"sid": id}},
	}
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request, err := p.oauth.NewAccessRequest(ctx, r, openid.NewDefaultSession())
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, request, err)
		return
	}
	response, err := p.oauth.NewAccessResponse(ctx, request)
	if err != nil {
		p.oauth.WriteAccessError(ctx, w, request, err)
		return
	}
	p.oauth.WriteAccessResponse(ctx, w, request, response)
}

func (p *provider) userInfo(w http.ResponseWriter, r *http.Request) {
	_, request, err := p.oauth.IntrospectToken(r.Context(), fosite.AccessTokenFromRequest(r), fosite.AccessToken, openid.NewDefaultSession())
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer(w, map[string]any{"sub": request.GetSession().GetSubject(), "email": email, "groups": p.groups})
}

// end tells the client that the last session that was begun has ended, as when an administrator ends it.
func (p *provider) end() {
	p.t.Helper()
	p.mu.Lock()
	id := p.sessions[len(p.sessions)-1]
	p.mu.Unlock()
	if got := p.sendLogout(p.key, id); got != http.StatusOK {
		p.t.Fatalf("the logout token: %d", got)
	}
}

func (p *provider) sendLogout(key *rsa.PrivateKey, session string) int {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, (&jose.SignerOptions{}).WithType("logout+jwt"))
	if err != nil {
		p.t.Fatal(err)
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": p.url, "aud": clientID, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(), "jti": rand.Text(), "sub": user, "sid": session,
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.PostForm(p.logout, url.Values{"logout_token": {token}})
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
