package main

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// TestRoots runs itself as in the image, where no file holds certificates.
func TestRoots(t *testing.T) {
	if os.Getenv("POSTFLIGHT_TEST_ROOTS") != "" {
		roots, err := x509.SystemCertPool()
		if err != nil || roots.Equal(x509.NewCertPool()) {
			t.Fatalf("no certificate authority is trusted: %v", err)
		}
		return
	}
	none := filepath.Join(t.TempDir(), "none")
	again := exec.Command(os.Args[0], "-test.run=^TestRoots$")
	again.Env = append(os.Environ(), "POSTFLIGHT_TEST_ROOTS=1", "SSL_CERT_FILE="+none, "SSL_CERT_DIR="+none)
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStoreCAFile(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("x"), maxCA+1), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, file, want string }{
		"Missing": {"a wrong path", large + "r", "no such file"},
		"Large":   {"a bundle of all authorities", large, "use only the certificate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := storeOptions{Options: objectstore.Options{Endpoint: "https://s3.example.com", Bucket: "inputs"}, caFile: tc.file}
			if err := o.validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
