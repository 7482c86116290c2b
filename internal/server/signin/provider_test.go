package signin_test

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// identityProvider is an OpenID Connect provider with one person, who is signed in there. It insists on PKCE.
type identityProvider struct {
	*httptest.Server
	t    *testing.T
	key  *rsa.PrivateKey
	keys oidctest.Server

	mu       sync.Mutex
	groups   []string
	revoked  bool
	audience string        // of the next id_token
	nonce    string        // of it; empty: the attempt's
	lifetime time.Duration // of it
	state    string        // of the next answer; empty: the attempt's
	codes    map[string]url.Values
	asked    int // how often, for the person's groups
}

// providerKey is the same for all, because it takes long to make one.
var providerKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newIdentityProvider(t *testing.T, groups ...string) *identityProvider {
	t.Helper()
	key, err := providerKey()
	if err != nil {
		t.Fatal(err)
	}
	p := &identityProvider{t: t, key: key, groups: groups, audience: "postflight", lifetime: time.Hour, codes: map[string]url.Values{}}
	p.keys.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: "RS256"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /auth", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	mux.Handle("GET /keys", &p.keys)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *identityProvider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *identityProvider) answer(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Error(err)
	}
}

func (p *identityProvider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.answer(w, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *identityProvider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != "postflight" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "a bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	answer := url.Values{"code": {code}}
	p.set(func() {
		p.codes[code] = q
		answer.Set("state", cmp.Or(p.state, q.Get("state")))
	})
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, known := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") ||
		r.FormValue("redirect_uri") != q.Get("redirect_uri") {
		http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := fmt.Sprintf(`{"iss": %q, "aud": %q, "sub": "anna-1", "sid": "session-1", "iat": %d, "exp": %d, "nonce": %q}`,
		p.URL, p.audience, time.Now().Unix(), time.Now().Add(p.lifetime).Unix(), cmp.Or(p.nonce, q.Get("nonce")))
	p.answer(w, map[string]any{
		"access_token": "token of anna", "token_type": "Bearer", "expires_in": 3600,
		"id_token": oidctest.SignIDToken(p.key, "k", "RS256", claims),
	})
}

func (p *identityProvider) userInfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.revoked || r.Header.Get("Authorization") != "Bearer token of anna" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	p.answer(w, map[string]any{"sub": "anna-1", "email": "anna@example.com", "groups": p.groups})
}
