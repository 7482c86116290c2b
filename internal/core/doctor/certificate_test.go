package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

func certificate(t *testing.T, from, until time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon.Add(from), NotAfter: noon.Add(until)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificate(t *testing.T) {
	const day = 24 * time.Hour
	cases := map[string]struct {
		content []byte
		level   Level
		says    string
	}{
		"valid for months":    {certificate(t, -day, 90*day), OK, "is valid for 90 days"},
		"expires soon":        {certificate(t, -day, 5*day), Warning, "expires in 120h."},
		"expired":             {certificate(t, -9*day, -day), Failure, "expired 24h ago."},
		"not valid yet":       {certificate(t, day, 9*day), Failure, "is not valid before"},
		"not PEM":             {[]byte("hello"), Failure, "has no certificate in tls.crt."},
		"PEM of another kind": {pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: []byte("x")}), Failure, "cannot be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if f := Certificate("tls", tc.content, noon); f.Level != tc.level || !strings.Contains(f.Message, tc.says) {
				t.Errorf("%+v, want %s and %q", f, tc.level, tc.says)
			}
		})
	}
}
