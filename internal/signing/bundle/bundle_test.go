package bundle

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

const payloadType = "application/vnd.in-toto+json"

func p256(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signed(t *testing.T, k *ecdsa.PrivateKey, payloadType, payload string) string {
	t.Helper()
	sum := sha256.Sum256(dsse.PAE(payloadType, []byte(payload)))
	signature, err := k.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Encode(payloadType, []byte(payload), signature, "hint")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), " ", "")
}

func TestVerifyBundle(t *testing.T) {
	k, other := p256(t), p256(t)
	good := signed(t, k, payloadType, "what was signed")
	signature := good[strings.Index(good, `{"sig"`) : strings.Index(good, "}]")+1]
	for name, tc := range map[string]struct {
		content string
		keys    Keys
		why     string // a part; empty: it is verified
	}{
		"good":                   {good, Keys{&k.PublicKey}, ""},
		"one of several keys":    {good, Keys{&other.PublicKey, &k.PublicKey}, ""},
		"another hint":           {strings.Replace(good, `"hint":"hint"`, `"hint":"x"`, 1), Keys{&k.PublicKey}, ""},
		"another key":            {good, Keys{&other.PublicKey}, "none of the keys"},
		"no keys":                {good, nil, "none of the keys"},
		"a changed payload":      {strings.Replace(good, `"payload":"d`, `"payload":"e`, 1), Keys{&k.PublicKey}, "changed"},
		"another payload type":   {strings.Replace(good, "in-toto", "in-tata", 1), Keys{&k.PublicKey}, "is of the type"},
		"signed as another type": {signed(t, k, "text/plain", "what was signed"), Keys{&k.PublicKey}, "text/plain"},
		"retyped": {strings.Replace(signed(t, k, "text/plain", "x"), "text/plain", payloadType, 1), Keys{&k.PublicKey},
			"none of the keys"},
		"two signatures":  {strings.Replace(good, signature, signature+","+signature, 1), Keys{&k.PublicKey}, "2 signatures"},
		"no signature":    {strings.Replace(good, signature, "", 1), Keys{&k.PublicKey}, "0 signatures"},
		"an empty one":    {strings.Replace(good, signature, `{"sig":""}`, 1), Keys{&k.PublicKey}, "none of the keys"},
		"another version": {strings.Replace(good, "v0.3", "v0.9", 1), Keys{&k.PublicKey}, "media type"},
		"no envelope":     {`{"mediaType":"` + MediaType + `"}`, Keys{&k.PublicKey}, "no envelope"},
		"no JSON":         {"x", Keys{&k.PublicKey}, "no Sigstore bundle"},
		"unknown members": {`{"mediaType":"` + MediaType + `","x":1}`, Keys{&k.PublicKey}, "no Sigstore bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := tc.keys.Verify([]byte(tc.content), payloadType)
			if (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
				t.Fatalf("%v, want %q: %s", err, tc.why, tc.content)
			}
			if err == nil && string(payload) != "what was signed" || err != nil && payload != nil {
				t.Errorf("%q", payload)
			}
		})
	}
}

func TestParseKeys(t *testing.T) {
	encode := func(kind string, public crypto.PublicKey) []byte {
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	edwards, _, err1 := ed25519.GenerateKey(rand.Reader)
	rsaKey, err2 := rsa.GenerateKey(rand.Reader, 2048)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	one := encode("PUBLIC KEY", p256(t).Public())
	for name, tc := range map[string]struct {
		text []byte
		keys int
		why  string
	}{
		"two kinds":     {append(bytes.Clone(one), encode("PUBLIC KEY", edwards)...), 2, ""},
		"text around":   {append([]byte("# current\n"), one...), 1, ""},
		"none":          {[]byte("x"), 0, "no public key in PEM"},
		"a private key": {encode("PRIVATE KEY", edwards), 0, `"PRIVATE KEY", not PUBLIC KEY`},
		"RSA":           {encode("PUBLIC KEY", rsaKey.Public()), 0, "neither ECDSA P-256 nor Ed25519"},
		"damaged":       {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}), 0, "cannot be read"},
		"many":          {bytes.Repeat(one, maxKeys+1), 0, "more than 16"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := ParseKeys(tc.text)
			if len(keys) != tc.keys || (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
				t.Errorf("%d keys, %v", len(keys), err)
			}
		})
	}
}
