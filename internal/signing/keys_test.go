package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/internal/signing/bundle"
)

const payloadType = "application/vnd.in-toto+json"

var payload = []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"gitCommit":"5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}}],` +
	`"predicateType":"https://in-toto.io/attestation/test-result/v0.1","predicate":{"result":"PASSED"}}`)

func curve(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func edwards(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func private(t *testing.T, k any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func public(t *testing.T, k crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func write(t *testing.T, content []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func verified(content []byte, k crypto.PublicKey) error {
	got, err := bundle.Keys{k}.Verify(content, payloadType)
	if err == nil && !bytes.Equal(got, payload) {
		return fmt.Errorf("%s was signed", got)
	}
	return err
}

// TestSign with both kinds of keys. test/sigstore has the same with Sigstore's tools.
func TestSign(t *testing.T) {
	for name, k := range map[string]crypto.Signer{"ECDSA P-256": curve(t, elliptic.P256()), "Ed25519": edwards(t)} {
		t.Run(name, func(t *testing.T) {
			keys, err := Load([]string{write(t, private(t, k))})
			if err != nil {
				t.Fatal(err)
			}
			signed, err := keys.Sign(payloadType, payload)
			if err != nil {
				t.Fatal(err)
			}
			if err := verified(signed, k.Public()); err != nil {
				t.Errorf("%v: %s", err, signed)
			}
			for what, other := range map[string]crypto.PublicKey{"a curve": curve(t, elliptic.P256()).Public(), "Edwards": edwards(t).Public()} {
				if err := verified(signed, other); err == nil {
					t.Errorf("another key verifies it: %s", what)
				}
			}
			compact := bytes.ReplaceAll(signed, []byte(" "), nil)
			changed := bytes.Replace(compact, []byte(`"payload":"ey`), []byte(`"payload":"ez`), 1)
			if bytes.Equal(changed, compact) || !errors.Is(verified(changed, k.Public()), bundle.ErrSignature) {
				t.Errorf("a changed byte is verified: %s", changed)
			}
			if got := string(keys.PublicPEM()); got != string(public(t, k)) {
				t.Errorf("published: %s", got)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	p256 := curve(t, elliptic.P256())
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	good := write(t, private(t, p256))
	for name, tc := range map[string]struct {
		files []string
		why   string // a part; empty: it is loaded
	}{
		"none":              {nil, ""},
		"one":               {[]string{good}, ""},
		"twice":             {[]string{good, good}, ""},
		"a retired key":     {[]string{good, write(t, public(t, edwards(t)))}, ""},
		"a public key":      {[]string{write(t, public(t, p256)), good}, "the first key has to sign"},
		"no file":           {[]string{filepath.Join(t.TempDir(), "none.pem")}, "no such file"},
		"a bad second file": {[]string{good, write(t, []byte("secret text"))}, "has no key in PEM"},
		"another curve":     {[]string{write(t, private(t, curve(t, elliptic.P384())))}, "curve P-384, not P-256"},
		"RSA":               {[]string{write(t, private(t, small))}, "neither ECDSA P-256 nor Ed25519"},
		"SEC 1":             {[]string{write(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}))}, "PKCS #8"},
		"with a password":   {[]string{write(t, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: sec1}))}, "without a password"},
		"damaged":           {[]string{write(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")}))}, "can be read. Make a key with"},
		"huge":              {[]string{write(t, bytes.Repeat([]byte("x"), maxFile+1))}, "a key has less than"},
		"too many":          {slicesOf(good, maxKeys+1), "at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := Load(tc.files)
			if (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
				t.Fatalf("%v, want %q", err, tc.why)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes the file: %v", err)
			}
			if err == nil && (keys == nil) != (len(tc.files) == 0) {
				t.Errorf("%v", keys)
			}
		})
	}
	if _, err := (*Keys)(nil).Sign(payloadType, payload); err == nil || (*Keys)(nil).PublicPEM() != nil {
		t.Errorf("no keys: %v", err)
	}
}

func slicesOf(file string, n int) (files []string) {
	for range n {
		files = append(files, file)
	}
	return files
}

// TestRotation: a file that changes counts, and an unusable one changes nothing. What an old key signed is verified as long as it is there.
func TestRotation(t *testing.T) {
	old, next := curve(t, elliptic.P256()), edwards(t)
	first, second := write(t, private(t, old)), write(t, public(t, next))
	keys, err := Load([]string{first, second})
	if err != nil {
		t.Fatal(err)
	}
	keys.Log = logr.Discard()
	steps := []struct {
		reason        string
		first, second []byte
		signs         crypto.Signer
		published     string
		valid         bool
	}{
		{"the next key is published before it signs", private(t, old), public(t, next), old, string(public(t, old)) + string(public(t, next)), true},
		{"the next key signs", private(t, next), public(t, old), next, string(public(t, next)) + string(public(t, old)), true},
		{"a half-written file", []byte("-----BEGIN"), public(t, old), next, string(public(t, next)) + string(public(t, old)), false},
		{"the old key is gone", private(t, next), public(t, next), next, string(public(t, next)), true},
	}
	for _, step := range steps {
		for file, content := range map[string][]byte{first: step.first, second: step.second} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		keys.follow()
		signed, err := keys.Sign(payloadType, payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := verified(signed, step.signs.Public()); err != nil {
			t.Errorf("%s: %v", step.reason, err)
		}
		if got := string(keys.PublicPEM()); got != step.published || (keys.problem.Load() == nil) != step.valid {
			t.Errorf("%s: %s, %v", step.reason, got, keys.problem.Load())
		}
	}
}
