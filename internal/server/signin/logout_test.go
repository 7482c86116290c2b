package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// TestLogoutBesideForgedTokens: forged tokens neither keep the provider's tokens from ending sessions, nor make many
// requests of it.
func TestLogoutBesideForgedTokens(t *testing.T) {
	own, forged := newKey(t), newKey(t)
	provider := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: own.Public(), KeyID: "own", Algorithm: "RS256"}}}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		provider.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	provider.SetIssuer(server.URL)
	o := newOIDC(OIDCConfig{Issuer: server.URL, ClientID: "postflight"})
	claims := fmt.Sprintf(`{"iss": %q, "aud": "postflight", "jti": "j", "sub": "anna", "iat": %d, "exp": %d,
		"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}`, server.URL, time.Now().Unix(), time.Now().Add(time.Hour).Unix())
	logout := func(key *rsa.PrivateKey, id string) error {
		_, err := o.Logout(context.Background(), oidctest.SignIDToken(key, id, "RS256", claims))
		return err
	}
	if err := logout(own, "own"); err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	for n := range 100 {
		if err := logout(forged, fmt.Sprintf("forged-%d", n)); err == nil {
			t.Fatal("a forged token is accepted")
		}
		if err := logout(own, "own"); err != nil {
			t.Fatalf("after %d forged tokens, the provider's own: %v", n+1, err)
		}
	}
	if n := asked.Load(); n >= 100 {
		t.Errorf("the provider was asked %d times for its keys", n)
	}
}

// TestLogoutWithoutProvider: the provider is to send a token again that cannot be checked now.
func TestLogoutWithoutProvider(t *testing.T) {
	key := newKey(t)
	provider := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "own", Algorithm: "RS256"}}}
	server := httptest.NewServer(provider)
	provider.SetIssuer(server.URL)
	o := newOIDC(OIDCConfig{Issuer: server.URL, ClientID: "postflight"})
	if _, err := o.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := o.Logout(t.Context(), oidctest.SignIDToken(key, "own", "RS256", `{}`)); err == nil || errors.Is(err, errLogoutToken) {
		t.Errorf("%v, want one that does not blame the token", err)
	}
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
