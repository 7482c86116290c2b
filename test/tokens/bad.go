package tokens

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// newKeys are the forged ones whose key the issuer might have published meanwhile.
var newKeys = []string{"a kid that nobody has", "a kid that is a path"}

// Bad is a token that must not let its sender in, and the status of the answer.
type Bad struct {
	Token  string
	Status int
	// NewKey is whether its key may be new: the status is 503 for a few seconds after the keys were read.
	NewKey bool
}

// Bad are forged, misdirected and expired tokens, and good ones that no TrustPolicy trusts which wants repository_id 4711, ref
// refs/heads/main and event_name push. Each differs in one thing from a good token of this issuer, whose newest key is an RSA key.
func (i *Issuer) Bad(now time.Time) map[string]Bad {
	all := map[string]Bad{}
	for name, token := range i.forged(now) {
		all[name] = Bad{Token: token, Status: http.StatusUnauthorized, NewKey: slices.Contains(newKeys, name)}
	}
	for name, change := range i.invalid(now) {
		all[name] = Bad{Token: i.Sign(GitHub(i.URL, now, change)), Status: http.StatusUnauthorized}
	}
	for name, change := range untrusted {
		all[name] = Bad{Token: i.Sign(GitHub(i.URL, now, change)), Status: http.StatusForbidden}
	}
	return all
}

func part(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// raw signs any two texts with an RSA key.
func raw(t testing.TB, key *rsa.PrivateKey, head, payload string) string {
	t.Helper()
	signed := part(head) + "." + part(payload)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + part(string(signature))
}

func hs256(secret []byte, head, payload string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(part(head) + "." + part(payload)))
	return part(head) + "." + part(payload) + "." + part(string(mac.Sum(nil)))
}

// forged are tokens that the issuer has not signed, or that are no tokens.
func (i *Issuer) forged(now time.Time) map[string]string {
	all := i.headers(now)
	maps.Copy(all, i.parts(now))
	maps.Copy(all, i.claims(now))
	return all
}

// headers confuse those who believe what a header says of algorithms and keys.
func (i *Issuer) headers(now time.Time) map[string]string {
	t := i.t
	newest := i.newest()
	key, kid := newest.Key.(*rsa.PrivateKey), newest.KeyID
	payload := asJSON(t, GitHub(i.URL, now))
	parts := strings.Split(i.Sign(GitHub(i.URL, now)), ".")
	attacker := rsaKey(t)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	head := fmt.Sprintf
	rs, hs := head(`{"alg":"RS256","kid":%q}`, kid), head(`{"alg":"HS256","kid":%q}`, kid)
	jwk := asJSON(t, jose.JSONWebKey{Key: attacker.Public(), KeyID: kid, Algorithm: "RS256"})
	return map[string]string{
		"no algorithm, no signature":           part(head(`{"alg":"none","kid":%q}`, kid)) + "." + part(payload) + ".",
		"no algorithm, a good signature":       part(head(`{"alg":"none","kid":%q}`, kid)) + "." + part(payload) + "." + parts[2],
		"no algorithm in mixed case":           part(head(`{"alg":"nOnE","kid":%q}`, kid)) + "." + part(payload) + ".",
		"no algorithm at all":                  part(head(`{"kid":%q}`, kid)) + "." + part(payload) + "." + parts[2],
		"public key as a secret, in PEM":       hs256(asPEM, hs, payload),
		"public key as a secret, in DER":       hs256(der, hs, payload),
		"public key as a secret, its modulus":  hs256(key.N.Bytes(), hs, payload),
		"a secret, said to be RS256":           hs256(asPEM, rs, payload),
		"RSA signature, said to be ES256":      raw(t, key, head(`{"alg":"ES256","kid":%q}`, kid), payload),
		"RSA signature, said to be RS512":      raw(t, key, head(`{"alg":"RS512","kid":%q}`, kid), payload),
		"an algorithm that is not listed":      sign(t, jose.PS256, key, header{"kid": kid}, payload),
		"EC key of somebody, the kid of this":  sign(t, jose.ES256, ecKey(t), header{"kid": kid}, payload),
		"RSA key of somebody, the kid of this": sign(t, jose.RS256, attacker, header{"kid": kid}, payload),
		"its own key in the header":            raw(t, attacker, head(`{"alg":"RS256","kid":%q,"jwk":%s}`, kid, jwk), payload),
		"its own key, and a good signature":    raw(t, key, head(`{"alg":"RS256","kid":%q,"jwk":%s}`, kid, jwk), payload),
		"a URL of keys":                        raw(t, key, head(`{"alg":"RS256","kid":%q,"jku":"https://evil.example.com/keys"}`, kid), payload),
		"a URL of certificates":                raw(t, key, head(`{"alg":"RS256","kid":%q,"x5u":"https://evil.example.com/c"}`, kid), payload),
		"a certificate":                        raw(t, key, head(`{"alg":"RS256","kid":%q,"x5c":["MII="]}`, kid), payload),
		"a critical extension":                 raw(t, key, head(`{"alg":"RS256","kid":%q,"crit":["exp"]}`, kid), payload),
		"a payload that is not encoded":        raw(t, key, head(`{"alg":"RS256","kid":%q,"crit":["b64"],"b64":false}`, kid), payload),
		"compressed":                           raw(t, key, head(`{"alg":"RS256","kid":%q,"zip":"DEF"}`, kid), payload),
		"a kid that nobody has":                raw(t, key, `{"alg":"RS256","kid":"key-99"}`, payload),
		"a kid that is a path":                 raw(t, key, `{"alg":"RS256","kid":"../../../../dev/null"}`, payload),
		"a kid that is a number":               raw(t, key, `{"alg":"RS256","kid":1}`, payload),
		"no kid":                               raw(t, key, `{"alg":"RS256"}`, payload),
		"an empty kid":                         raw(t, key, `{"alg":"RS256","kid":""}`, payload),
		"another type of token":                raw(t, key, head(`{"alg":"RS256","kid":%q,"typ":"logout+jwt"}`, kid), payload),
		"two algorithms":                       raw(t, key, head(`{"alg":"none","alg":"RS256","kid":%q}`, kid), payload),
		"names in capitals":                    raw(t, key, head(`{"ALG":"RS256","KID":%q}`, kid), payload),
		"a header that is no object":           raw(t, key, `"RS256"`, payload),
		"a header that is no JSON":             raw(t, key, `RS256`, payload),
	}
}

// parts are good tokens that were cut, lengthened or put together anew.
func (i *Issuer) parts(now time.Time) map[string]string {
	good := i.Sign(GitHub(i.URL, now))
	parts := strings.Split(good, ".")
	other := strings.Split(i.Sign(GitHub(i.URL, now, Claims{"repository_id": "1"})), ".")
	return map[string]string{
		"no signature":                        parts[0] + "." + parts[1] + ".",
		"half of the signature":               good[:len(good)-100],
		"signature of another token":          parts[0] + "." + parts[1] + "." + other[2],
		"claims of another token":             parts[0] + "." + other[1] + "." + parts[2],
		"a character more":                    good + "A",
		"padding":                             good + "==",
		"a dot more":                          good + ".",
		"five parts, as if it were encrypted": good + "." + parts[1] + "." + parts[2],
		"all in JSON":                         asJSON(i.t, map[string]string{"protected": parts[0], "payload": parts[1], "signature": parts[2]}),
		"9 KiB":                               i.Sign(GitHub(i.URL, now, Claims{"x": strings.Repeat("x", 9<<10)})),
		"nothing but dots":                    "..",
		"a header and nothing":                parts[0] + "..",
	}
}

// claims are of the issuer, but cannot be read in one way only, or name another issuer.
func (i *Issuer) claims(now time.Time) map[string]string {
	t := i.t
	newest := i.newest()
	key, payload := newest.Key.(*rsa.PrivateKey), asJSON(t, GitHub(i.URL, now))
	rs := fmt.Sprintf(`{"alg":"RS256","kid":%q}`, newest.KeyID)
	return map[string]string{
		"claims that are a list":                 raw(t, key, rs, "["+payload+"]"),
		"claims that are no JSON":                raw(t, key, rs, strings.TrimSuffix(payload, "}")),
		"claims that are no UTF-8":               raw(t, key, rs, strings.Replace(payload, "acme", "acm\xff", 1)),
		"two issuers":                            raw(t, key, rs, strings.Replace(payload, "{", `{"iss":"https://evil.example.com",`, 1)),
		"two repositories":                       raw(t, key, rs, strings.Replace(payload, "{", `{"repository_id":"1",`, 1)),
		"two members in an object":               raw(t, key, rs, strings.Replace(payload, "{", `{"x":{"a":1,"a":2},`, 1)),
		"two repositories, one of them escaped":  raw(t, key, rs, strings.Replace(payload, "{", `{"repository\u005fid":"1",`, 1)),
		"something behind the claims":            raw(t, key, rs, payload+payload),
		"the name of its issuer in another case": raw(t, key, rs, strings.Replace(payload, `"iss"`, `"ISS"`, 1)),
		"an issuer that is a number":             raw(t, key, rs, strings.Replace(payload, asJSON(t, i.URL), "7", 1)),
		"an issuer with a slash":                 i.Sign(GitHub(i.URL+"/", now)),
		"an issuer that is not listed":           i.Sign(GitHub("https://ci.example.com", now)),
		"an issuer that is listed, but not this": i.Sign(GitHub("https://token.actions.githubusercontent.com", now)),
	}
}

// invalid are changes of the standard claims.
func (i *Issuer) invalid(now time.Time) map[string]Claims {
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	many := Claims{}
	for n := range 150 {
		many[fmt.Sprintf("c%d", n)] = n
	}
	return map[string]Claims{
		"another audience":           {"aud": "sts.amazonaws.com"},
		"no audience":                {"aud": nil},
		"several other audiences":    {"aud": []string{"vault", "sts.amazonaws.com"}},
		"an audience in a list":      {"aud": []any{[]string{"postflight"}}},
		"an object as the audience":  {"aud": Claims{"postflight": "postflight"}},
		"expired":                    {"exp": in(-10 * time.Minute)},
		"valid later":                {"nbf": in(10 * time.Minute)},
		"issued later":               {"iat": in(10 * time.Minute)},
		"valid for ever":             {"exp": nil},
		"valid for a week":           {"exp": in(7 * 24 * time.Hour)},
		"of unknown age":             {"iat": nil},
		"an expiry that is a text":   {"exp": fmt.Sprint(in(time.Minute))},
		"an expiry that is a list":   {"exp": []int64{in(time.Minute)}},
		"an expiry that is huge":     {"exp": json.Number("1e400")},
		"an expiry that is negative": {"exp": -1},
		"150 claims":                 many,
	}
}

// untrusted are changes of a token that make no policy match.
var untrusted = map[string]Claims{
	"another repository":            {"repository_id": "4712"},
	"no repository":                 {"repository_id": nil},
	"a repository that is null":     {"repository_id": json.RawMessage("null")},
	"a repository that is longer":   {"repository_id": "47110"},
	"a repository with a space":     {"repository_id": "4711 "},
	"a list of repositories":        {"repository_id": []string{"4711"}},
	"a repository in an object":     {"repository_id": Claims{"4711": "4711"}},
	"a repository that is true":     {"repository_id": true},
	"a repository that is almost":   {"repository_id": json.Number("4711.0")},
	"a huge number as a repository": {"repository_id": json.Number("4711" + strings.Repeat("0", 300))},
	"a branch":                      {"ref": "refs/heads/x"},
	"a branch that ends in main":    {"ref": "refs/heads/x/refs/heads/main"},
	"a branch in capitals":          {"ref": "refs/heads/Main"},
	"an event of forks":             {"event_name": "pull_request_target"},
	"an empty commit":               {"sha": ""},
	"a list of commits":             {"sha": []string{Commit}},
}
