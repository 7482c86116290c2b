package inputs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// unavailable is an error that may pass. It says what people may read; the cause is for errors.Is.
type unavailable struct {
	words string
	cause error
}

func (e *unavailable) Error() string { return e.words }
func (e *unavailable) Unwrap() error { return e.cause }

// connection says why there was no answer. The text of network errors holds addresses, and that of
// URL errors the signed URL, so none of it is taken over.
func connection(err error) string {
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
