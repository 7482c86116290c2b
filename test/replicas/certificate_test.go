package replicas

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestCertificateRotated: the certificate is replaced while 33 notifications a second arrive, some on connections that stay
// open and some on new ones. Each is answered, and new connections get the new certificate.
func TestCertificateRotated(t *testing.T) {
	tier.All(t, "the manager looks for new certificates every few seconds")
	s := apiserver.Alone(t)
	systemNamespace(t, s)
	tm := newTeam(t, s)
	tm.unbind()
	folder, authorities := t.TempDir(), x509.NewCertPool()
	first, second := newCertificate(t, authorities, 1), newCertificate(t, authorities, 2)
	first.write(t, folder)
	r := startReplica(t, kubeconfigOf(t, s.Manager(t)), "--tls-cert-file="+folder+"/tls.crt", "--tls-key-file="+folder+"/tls.key")
	r.URL = strings.Replace(r.URL, "http:", "https:", 1)
	r.AwaitReady()

	kept := tlsClient(authorities, false)
	poll.True(t, "the team is known", func() bool {
		a, err := notifyBy(t.Context(), kept, r.URL, tm.key, `{"branch":"main","sha":"known"}`)
		return err == nil && a.Status == 200 && len(a.Results) == 1
	})
	clients, served := []*http.Client{kept, tlsClient(authorities, true)}, make(chan struct{})
	go func() {
		defer close(served)
		time.Sleep(around)
		second.write(t, folder)
		err := poll.Wait(poll.Limit, "the new certificate is served", func() string {
			if servedSerial(r, authorities) != 2 {
				return "the other one is"
			}
			return ""
		})
		if err != nil {
			t.Error(err)
		}
		time.Sleep(around)
	}()
	c := loadAtRate(served, func(n int) (answer, error) {
		return notifyBy(t.Context(), clients[n%2], r.URL, tm.key, fmt.Sprintf(`{"branch":"main","sha":"rotated-%d"}`, n))
	})
	fmt.Printf("CERTIFICATE_ROTATED per_second=%d %s longest=%s\n", rollingRate, c, c.percentile(1).Round(time.Millisecond))
	if sent := len(c.times); c.created != sent {
		t.Errorf("%d notifications: %s; e.g. %s", sent, c, c.first)
	}
}

func tlsClient(authorities *x509.CertPool, anew bool) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: anew, MaxIdleConnsPerHost: 50, TLSClientConfig: &tls.Config{RootCAs: authorities},
	}}
}

// certificate is one that signs itself, and its key, in PEM.
type certificate struct{ certificate, key []byte }

func newCertificate(t *testing.T, authorities *x509.CertPool, serial int64) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	made := certificate{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}
	authorities.AppendCertsFromPEM(made.certificate)
	return made
}

// write replaces the files one after the other: for a moment they do not match.
func (c certificate) write(t *testing.T, folder string) {
	t.Helper()
	err := errors.Join(
		os.WriteFile(filepath.Join(folder, "tls.key"), c.key, 0o600),
		os.WriteFile(filepath.Join(folder, "tls.crt"), c.certificate, 0o600),
	)
	if err != nil {
		t.Error(err)
	}
}

// servedSerial is the serial number of the certificate that a new connection gets; 0 without one.
func servedSerial(r *replica, authorities *x509.CertPool) int64 {
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.URL, "https://"), &tls.Config{RootCAs: authorities})
	if err != nil {
		return 0
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}
