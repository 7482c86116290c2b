package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/apiserver"
)

func keyFile(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAttestationOptions: a key that cannot sign, or signatures that nothing keeps, stop the manager at its start.
func TestAttestationOptions(t *testing.T) {
	good, bad := keyFile(t), filepath.Join(t.TempDir(), "bad.pem")
	if err := os.WriteFile(bad, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := storeOptions{Options: objectstore.Options{Bucket: "b", Endpoint: "https://s3.example.com"}}
	for name, tc := range map[string]struct {
		files   []string
		store   storeOptions
		problem string // empty: none
	}{
		"none":       {nil, store, ""},
		"one":        {[]string{good}, store, ""},
		"no store":   {[]string{good}, storeOptions{}, "kept in the object store"},
		"no key":     {[]string{bad}, store, "--attestation-key-file: " + bad + " has no key in PEM"},
		"bad second": {[]string{good, bad}, store, "has no key in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			o := attestationOptions{keyFiles: tc.files}
			err := o.validate(tc.store)
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %q", err, tc.problem)
			}
			if signs := o.signer() != nil; err == nil && signs != (len(tc.files) > 0) {
				t.Errorf("it signs: %t", signs)
			}
		})
	}
}

// TestPublicKeysAreServed: anyone gets them, also below the path of the public URL.
func TestPublicKeysAreServed(t *testing.T) {
	o := attestationOptions{keyFiles: []string{keyFile(t)}}
	if err := o.validate(storeOptions{Options: objectstore.Options{Bucket: "b", Endpoint: "https://s3.example.com"}}); err != nil {
		t.Fatal(err)
	}
	m := startManager(t, apiserver.Kubeconfig(t, apiserver.Alone(t).Config), 0, answers, func(all *options) {
		all.attestation, all.publicURL = o, "https://ci.example.com/postflight"
	})
	for _, path := range []string{"", "/postflight"} {
		resp, err := http.Get(m.url + path + "/.well-known/postflight/attestation-keys.pem")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(got) != string(o.keys.PublicPEM()) {
			t.Errorf("%q: %s %s, %v", path, resp.Status, got, err)
		}
	}
}
