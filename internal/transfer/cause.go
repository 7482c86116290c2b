package transfer

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// Cause is why a request got no whole answer. Callers have their own words for it, because errors quote addresses and signed URLs.
type Cause int

// The causes.
const (
	Unknown     Cause = iota
	Refused           // nothing listens there
	UnknownHost       // the name has no address
	Untrusted         // the certificate is not trusted
	Silent            // no answer in time
	Cut               // the connection ended early
)

// CauseOf is the cause of an error of net/http.
func CauseOf(err error) Cause {
	var (
		dns       *net.DNSError
		untrusted *tls.CertificateVerificationError
		network   net.Error
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.As(err, &dns):
		return UnknownHost
	case errors.As(err, &untrusted):
		return Untrusted
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Silent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return Cut
	default:
		return Unknown
	}
}

// WithoutURL removes the URL from an error of net/http: a signed one is a secret.
func WithoutURL(err error) error {
	wrapped, ok := errors.AsType[*url.Error](err)
	switch {
	case !ok:
		return err
	case strings.Contains(wrapped.Err.Error(), "Location header"): // net/http quotes it, and it may repeat the URL
		return errors.New("it redirects to an invalid address")
	default:
		return wrapped.Err
	}
}
