package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/tokens"
)

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestFaultsOfIssuers: whatever an issuer answers, the error is a short line, and the answer costs little.
func TestFaultsOfIssuers(t *testing.T) {
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
	}
	elsewhere := 0
	for name, tc := range map[string]struct {
		answer func(ci *tokens.Issuer) http.HandlerFunc
		want   string
	}{
		"hangs": {func(*tokens.Issuer) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "exceeded"},
		"answers 10 MiB": {func(*tokens.Issuer) http.HandlerFunc {
			return answer(`{"issuer":"` + strings.Repeat("x", 10<<20) + `"}`)
		}, "too large"},
		"fails with 10 MiB": {func(*tokens.Issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(500)
				fmt.Fprint(w, strings.Repeat("x\n", 5<<20))
			}
		}, "cannot be read"},
		"fails with a page": {func(*tokens.Issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(500)
				fmt.Fprint(w, strings.Repeat("<p>\x1b[31m\n", 9<<10))
			}
		}, "500"},
		"redirects": {func(ci *tokens.Issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					elsewhere++
				}
				http.Redirect(w, r, ci.URL+"/elsewhere", http.StatusFound)
			}
		}, "302"},
		"is another issuer": {func(*tokens.Issuer) http.HandlerFunc {
			return answer(`{"issuer":"https://evil.example.com","jwks_uri":"https://evil.example.com/keys"}`)
		}, "did not match"},
		"answers no JSON": {func(*tokens.Issuer) http.HandlerFunc { return answer("<html>") }, "decode"},
		"has its keys on http": {func(ci *tokens.Issuer) http.HandlerFunc {
			return answer(`{"issuer":"` + ci.URL + `","jwks_uri":"http://evil.example.com"}`)
		}, "must be an https URL"},
		"has its keys in a file": {func(ci *tokens.Issuer) http.HandlerFunc {
			return answer(`{"issuer":"` + ci.URL + `","jwks_uri":"file:///etc/passwd"}`)
		}, "must be an absolute https URL"},
		"says not where": {func(ci *tokens.Issuer) http.HandlerFunc { return answer(`{"issuer":"` + ci.URL + `"}`) },
			"must be an absolute https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			ci := tokens.NewIssuer(t)
			ci.Answer(tc.answer(ci))
			c := outbound.New()
			if name == "hangs" {
				c.Timeout = 50 * time.Millisecond
			}
			_, err := (&fetcher{listed(ci), c}).read(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > maxProblem+10 ||
				strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	if elsewhere != 0 {
		t.Error("a redirect was followed")
	}
}

func TestKeysByURL(t *testing.T) {
	ci := tokens.NewIssuer(t)
	l := listed(ci)
	l.JWKSURL = ci.URL + "/keys"
	if keys, err := (&fetcher{l, outbound.New()}).read(t.Context()); err != nil || len(keys) != 1 || ci.Requests() != 1 {
		t.Errorf("%d keys after %d requests: %v", len(keys), ci.Requests(), err)
	}
}

func TestParseKeys(t *testing.T) {
	good := jose.JSONWebKey{KeyID: "a", Key: rsaKey(t, 2048).Public(), Algorithm: "RS256", Use: "sig"}
	set := func(keys ...any) string {
		text, err := json.Marshal(map[string]any{"keys": keys})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	many := func(n int) (all []any) {
		for range n {
			all = append(all, good)
		}
		return all
	}
	without := func(change func(*jose.JSONWebKey)) jose.JSONWebKey { k := good; change(&k); return k }
	for name, tc := range map[string]struct {
		set  string
		want int
	}{
		"one":                {set(good), 1},
		"of an unknown kind": {set(map[string]string{"kty": "FUTURE", "kid": "b"}, good), 1},
		"a secret":           {set(jose.JSONWebKey{KeyID: "b", Key: []byte("a shared secret of 32 bytes .....")}, good), 1},
		"a private key":      {set(jose.JSONWebKey{KeyID: "b", Key: rsaKey(t, 2048)}, good), 1},
		"to encrypt":         {set(without(func(k *jose.JSONWebKey) { k.Use = "enc" }), good), 1},
		"without an ID":      {set(without(func(k *jose.JSONWebKey) { k.KeyID = "" }), good), 1},
		"short":              {set(map[string]string{"kty": "RSA", "kid": "b", "n": strings.Repeat("A", 170) + "Q", "e": "AQAB"}, good), 1},
		"long": {set(map[string]string{"kty": "RSA", "kid": "b", "n": "_" + strings.Repeat("A", 3000) + "Q", "e": "AQAB"},
			good), 1},
		"two of an ID":             {set(good, good), 2},
		"no key that can be used":  {set(map[string]string{"kty": "FUTURE"}), 0},
		"none":                     {set(), 0},
		"as many as allowed":       {set(many(maxKeys)...), maxKeys},
		"more":                     {set(many(maxKeys + 1)...), 0},
		"no set":                   {`[]`, 0},
		"a set that is no list":    {`{"keys":{}}`, 0},
		"nothing":                  {``, 0},
		"a key that is a number":   {set(1, good), 1},
		"a key with a certificate": {set(map[string]any{"kty": "RSA", "kid": "b", "n": "x", "e": "AQAB", "x5c": []string{"!"}}, good), 1},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := parseKeys([]byte(tc.set))
			if len(keys) != tc.want || (err == nil) != (tc.want > 0) {
				t.Errorf("%d, %v", len(keys), err)
			}
		})
	}
}
