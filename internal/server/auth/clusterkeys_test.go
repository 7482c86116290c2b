package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// issuer signs tokens as the API server does.
type issuer struct {
	t    *testing.T
	id   string
	key  *ecdsa.PrivateKey
	jobs int
}

func newIssuer(t *testing.T, id string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t: t, id: id, key: key}
}

// token is another one each time.
func (i *issuer) token() string {
	i.t.Helper()
	i.jobs++
	return "Bearer " + i.sign(fmt.Sprintf(`{"aud":["postflight-collect"],"exp":9e9,"jti":"%d"}`, i.jobs))
}

func (i *issuer) sign(claims string) string {
	i.t.Helper()
	return signWith(i.t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}}, claims)
}

func signWith(t *testing.T, key jose.SigningKey, claims string) string {
	t.Helper()
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(claims))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// confused is a token that is signed with the public key as a shared secret.
func (i *issuer) confused(claims string) string {
	i.t.Helper()
	public, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		i.t.Fatal(err)
	}
	return signWith(i.t, jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: public, KeyID: i.id}}, claims)
}

// published are the keys of issuers.
func published(issuers ...*issuer) []byte {
	var set jose.JSONWebKeySet
	for _, i := range issuers {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: i.key.Public(), KeyID: i.id, Algorithm: "ES256", Use: "sig"})
	}
	content, _ := json.Marshal(set) // of keys that were just made
	return content
}

// counter knows all tokens, and counts them.
type counter struct{ reviews int }

func (c *counter) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	c.reviews++
	o.(*authenticationv1.TokenReview).Status = boundTo()
	return nil
}

// TestForgedTokens: tokens that the API server has not signed cost it nothing, and do not delay others.
func TestForgedTokens(t *testing.T) {
	own, forger := newIssuer(t, "own"), newIssuer(t, "forged")
	impostor := newIssuer(t, "own")
	r, asked := &counter{}, 0
	keys := NewClusterKeys(func(context.Context) ([]byte, error) { asked++; return published(own), nil }, clock.RealClock{}, logr.Discard())
	a := NewPodAuthenticator(r, keys, clock.RealClock{})
	for n := range 1000 {
		for name, token := range map[string]string{"another key": forger.token(), "the key's name": impostor.token(),
			"no signature": plausible()} {
			if _, err := a.Authenticate(t.Context(), bearerRequest(token)); err == nil {
				t.Fatalf("a token with %s is accepted", name)
			}
		}
		if n%100 == 0 {
			if _, err := a.Authenticate(t.Context(), bearerRequest(own.token())); err != nil {
				t.Fatalf("after %d forged tokens: %v", 3*n, err)
			}
		}
	}
	if r.reviews != 10 || asked > 10 {
		t.Errorf("%d reviews, want 10; asked %d times for keys", r.reviews, asked)
	}
}

// TestNewKey: a token of a key that was published later is accepted soon, and not refused for good until then.
func TestNewKey(t *testing.T) {
	old, next := newIssuer(t, "old"), newIssuer(t, "next")
	synctest.Test(t, func(t *testing.T) {
		current := published(old)
		keys := NewClusterKeys(func(context.Context) ([]byte, error) { return current, nil }, clock.RealClock{}, logr.Discard())
		a := NewPodAuthenticator(&counter{}, keys, clock.RealClock{})
		for _, step := range []struct {
			token string
			want  int // HTTP status; 0: it is accepted
		}{{old.token(), 0}, {next.token(), http.StatusServiceUnavailable}} {
			if _, err := a.Authenticate(t.Context(), bearerRequest(step.token)); statusOf(err) != step.want {
				t.Errorf("got %v, want %d", err, step.want)
			}
		}
		current = published(old, next)
		time.Sleep(keysEvery)
		for _, i := range []*issuer{next, old} {
			if _, err := a.Authenticate(t.Context(), bearerRequest(i.token())); err != nil {
				t.Errorf("the key %s: %v", i.id, err)
			}
		}
	})
}

// TestKeysCannotBeReadAgain: a token of a newer key is refused for now, and not for good.
func TestKeysCannotBeReadAgain(t *testing.T) {
	old, next := newIssuer(t, "old"), newIssuer(t, "next")
	synctest.Test(t, func(t *testing.T) {
		var down error
		keys := NewClusterKeys(func(context.Context) ([]byte, error) { return published(old), down }, clock.RealClock{}, logr.Discard())
		a := NewPodAuthenticator(&counter{}, keys, clock.RealClock{})
		for _, step := range []struct {
			down  error
			token string
			want  int // HTTP status; 0: it is accepted
		}{{nil, old.token(), 0}, {errors.New("down"), next.token(), http.StatusServiceUnavailable}, {errors.New("down"), old.token(), 0},
			{nil, next.token(), http.StatusUnauthorized}} {
			down = step.down
			if _, err := a.Authenticate(t.Context(), bearerRequest(step.token)); statusOf(err) != step.want {
				t.Errorf("got %v, want %d", err, step.want)
			}
			time.Sleep(keysEvery)
		}
	})
}

// TestWithoutPublishedKeys: where the keys cannot be read, the API server is asked about each token, as far as limits allow.
func TestWithoutPublishedKeys(t *testing.T) {
	own := newIssuer(t, "own")
	read := func(content string, err error) *ClusterKeys {
		return NewClusterKeys(func(context.Context) ([]byte, error) { return []byte(content), err }, clock.RealClock{}, logr.Discard())
	}
	for name, keys := range map[string]*ClusterKeys{
		"none":      nil,
		"forbidden": read("", errors.New("forbidden")),
		"no keys":   read(`{"keys":[]}`, nil),
		"no JSON":   read(`<html>`, nil),
	} {
		t.Run(name, func(t *testing.T) {
			r := &counter{}
			a := NewPodAuthenticator(r, keys, clock.RealClock{})
			for range 3 {
				if _, err := a.Authenticate(t.Context(), bearerRequest(own.token())); err != nil {
					t.Error(err)
				}
			}
			if r.reviews != 3 {
				t.Errorf("%d reviews, want 3", r.reviews)
			}
		})
	}
}
