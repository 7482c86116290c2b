// Package outbound makes HTTP clients for servers outside the cluster. They follow no redirect, so that a token stays with its host.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

const (
	// timeout of a whole request is shorter than the lease, so that one of a former leader cannot arrive long after the next has begun.
	timeout = 10 * time.Second

	// connectTimeout leaves half of timeout for the answer.
	connectTimeout = 5 * time.Second

	// maxAnswer bounds the memory of an answer. A page of a hundred statuses has some 200 KiB.
	maxAnswer = 4 << 20

	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
)

// New returns a client for addresses of the operator. It uses the proxy of the environment.
func New() *http.Client { return newClient(transport(http.ProxyFromEnvironment, nil)) }

// Trusting is New for servers whose certificates only these authorities vouch for; nil: public ones.
func Trusting(roots *x509.CertPool) *http.Client {
	t := transport(http.ProxyFromEnvironment, nil)
	t.TLSClientConfig.RootCAs = roots
	return newClient(t)
}

// Streaming is Trusting for servers whose answers take as long as they are asked to, and are bounded by those who read them. It has
// connections of its own.
func Streaming(roots *x509.CertPool) *http.Client {
	t := transport(http.ProxyFromEnvironment, nil)
	t.TLSClientConfig.RootCAs = roots
	t.MaxConnsPerHost = 0
	// A connection that died is noticed before the next notification has waited for long.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: connectTimeout, PingTimeout: connectTimeout}
	c := newClient(t)
	c.Timeout, c.Transport = 0, t
	return c
}

func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     boundedAnswers{next},
	}
}

func transport(
	proxy func(*http.Request) (*url.URL, error), control func(network, address string, _ syscall.RawConn) error,
) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: control}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           32,
		MaxConnsPerHost:        16,
		IdleConnTimeout:        time.Minute,
	}
}

type boundedAnswers struct{ next http.RoundTripper }

func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// Drain reads the rest of a short answer and closes it, so that the connection can be used again.
func Drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxHeader)
	_ = body.Close()
}
