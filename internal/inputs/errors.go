package inputs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// unavailable is an error that may pass. Everyone may read its text; the cause is for errors.Is.
type unavailable struct {
	text  string
	cause error
}

func (e *unavailable) Error() string { return e.text }
func (e *unavailable) Unwrap() error { return e.cause }

// connectionMessage says why there was no answer. It never quotes the error, because network errors hold
// addresses, and URL errors the signed URL.
func connectionMessage(err error) string {
	var (
		dns         *net.DNSError
		network     net.Error
		certificate *tls.CertificateVerificationError
		source      *credentialsError
	)
	switch {
	case errors.As(err, &source):
		return source.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections"
	case errors.As(err, &dns):
		return "its name cannot be resolved"
	case errors.As(err, &certificate):
		return "its TLS certificate is not trusted; set --store-ca-file"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("it does not answer within %s", askTimeout)
	default:
		return "the connection to it fails"
	}
}
