package tokens

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// Issuer publishes its keys, and signs with the newest.
type Issuer struct {
	URL string

	t        testing.TB
	mu       sync.Mutex
	keys     []jose.JSONWebKey // with the private parts
	answer   http.HandlerFunc  // instead of the usual answers; nil: none
	requests int
}

// NewIssuer starts one at a URL of this machine, with an RSA key.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.Rotate()
	return i
}

// gitHubServerPath is where GitHub Enterprise Server has its issuer.
const gitHubServerPath = "/_services/token"

// NewGitHubServer is NewIssuer for one that is GitHub Enterprise Server by its URL.
func NewGitHubServer(t testing.TB) *Issuer {
	t.Helper()
	i := NewIssuer(t)
	i.URL += gitHubServerPath
	return i
}

// Host is what an operator calls it in the repositories of a Team.
func (i *Issuer) Host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(i.URL, "http://"), "/")
	return host
}

// Rotate adds a key, with which it signs from now on.
func (i *Issuer) Rotate() {
	i.t.Helper()
	i.add(rsaKey(i.t), jose.RS256)
}

// RotateEC adds an elliptic one.
func (i *Issuer) RotateEC() {
	i.t.Helper()
	i.add(ecKey(i.t), jose.ES256)
}

func (i *Issuer) add(key any, algorithm jose.SignatureAlgorithm) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := "key-" + strconv.Itoa(len(i.keys)+1)
	i.keys = append(i.keys, jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(algorithm), Use: "sig"})
}

// Withdraw publishes only the newest key from now on.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-1:]
}

// Answer replaces its answers; nil: they are the usual ones again.
func (i *Issuer) Answer(answer http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

// Requests is how many it got.
func (i *Issuer) Requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.requests++
	answer := i.answer
	i.mu.Unlock()
	switch path := strings.TrimPrefix(r.URL.Path, gitHubServerPath); {
	case answer != nil:
		answer(w, r)
	case path == "/.well-known/openid-configuration":
		writeJSON(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	case path == "/keys":
		writeJSON(w, i.published())
	default:
		http.NotFound(w, r)
	}
}

func (i *Issuer) published() (set jose.JSONWebKeySet) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, k := range i.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	return set
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (i *Issuer) newest() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Sign returns a token.
func (i *Issuer) Sign(claims Claims) string {
	i.t.Helper()
	key := i.newest()
	return sign(i.t, jose.SignatureAlgorithm(key.Algorithm), key.Key, header{"kid": key.KeyID, "typ": "JWT"}, asJSON(i.t, claims))
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type header map[jose.HeaderKey]any

// sign lets the library make the header and the signature.
func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, h header, payload string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, &jose.SignerOptions{ExtraHeaders: h})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
