package listen

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/postflight-dev/postflight/test/poll"
)

// testCertificate is for 127.0.0.1, with the pool that trusts it.
func testCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return pair, roots
}

// secured is a server that speaks HTTPS, and what its clients need.
func secured(t *testing.T, handler http.HandlerFunc, b Bounds) (*running, *tls.Config) {
	t.Helper()
	certificate, roots := testCertificate(t)
	server := &http.Server{
		Addr: "127.0.0.1:0", Handler: handler, ReadHeaderTimeout: 2 * poll.Limit,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	}
	r := runServer(t, server, Options{DrainTimeout: time.Second, Bounds: b})
	return r, &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
}

func (r *running) dialTLS(config *tls.Config) net.Conn {
	r.t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: poll.Limit}, "tcp", r.Addr().String(), config)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// TestTLS: the handler sees the TLS of its connection, and no client gets HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	protocol := func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			_, _ = fmt.Fprintf(w, "%s over TLS %t", r.Proto, r.TLS.HandshakeComplete)
		}
	}
	for name, bounds := range map[string]Bounds{"with bounds": {Unproven: 8, HeaderLines: 64}, "without bounds": {}} {
		t.Run(name, func(t *testing.T) {
			r, config := secured(t, protocol, bounds)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}, Timeout: poll.Limit}
			defer client.CloseIdleConnections()
			resp, err := client.Get("https://" + r.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "HTTP/1.1 over TLS true" {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

// TestHeadOverTLS: the bound on lines counts what the client says, not its encryption.
func TestHeadOverTLS(t *testing.T) {
	t.Parallel()
	r, config := secured(t, keyed, Bounds{Unproven: 8, Idle: 8, HeaderLines: 16})
	c := r.dialTLS(config)
	for range 200 { // some of their bytes look like line ends
		if status := get(t, c, "/?tenant=a"); status != http.StatusOK {
			t.Fatalf("status %d, want 200", status)
		}
	}
	if status := get(t, r.dialTLS(config), "/ HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("a: b\r\n",
		20)+"c: d"); status != http.StatusBadRequest {
		t.Errorf("more than 16 lines: status %d, want 400", status)
	}
}

// TestPlainHTTPOverTLS: a client that uses the wrong scheme is told so.
func TestPlainHTTPOverTLS(t *testing.T) {
	t.Parallel()
	r, _ := secured(t, keyed, Bounds{Unproven: 8})
	if status := get(t, r.dial("127.0.0.1"), "/"); status != http.StatusBadRequest {
		t.Errorf("plain HTTP: status %d, want 400", status)
	}
}

// TestUnfinishedHandshakes make room for others.
func TestUnfinishedHandshakes(t *testing.T) {
	t.Parallel()
	r, config := secured(t, keyed, Bounds{Unproven: 4, Idle: 4, Silent: 64})
	for range 20 {
		c := r.dial("127.0.0.2")
		if _, err := c.Write([]byte{22, 3, 1, 2, 0}); err != nil { // the beginning of a handshake, and no more
			t.Fatal(err)
		}
	}
	if status := get(t, r.dialTLS(config), "/?tenant=a"); status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
}

// TestIdleOverTLS: a client that does not read cannot delay the others, for which its connection is closed.
func TestIdleOverTLS(t *testing.T) {
	t.Parallel()
	r, config := secured(t, keyed, Bounds{Unproven: 8, Idle: 1})
	first := r.dialTLS(config)
	for i, c := range []net.Conn{first, r.dialTLS(config)} {
		if status := get(t, c, "/?tenant=a"); status != http.StatusOK {
			t.Errorf("connection %d: status %d, want 200", i, status)
		}
		r.awaitIdle(1) // the answer arrives before the server counts the connection as idle
	}
	awaitClosed(t, first)
}
