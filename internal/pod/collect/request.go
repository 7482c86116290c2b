package collect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// failure is why a request failed. Its text continues "the store", or another receiver.
type failure struct {
	text      string
	retryable bool
}

func (f *failure) Error() string { return f.text }

// errIdle ends uploads that have made no progress for too long.
var errIdle = errors.New("nothing moves")

// withPatience ends a context unless moved is called again and again.
func withPatience(ctx context.Context, patience time.Duration) (_ context.Context, moved, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(errIdle) })
	return ctx, func() { timer.Reset(patience) }, func() { timer.Stop(); cancel(context.Canceled) }
}

// retry repeats an attempt while its failure is retryable, until the context ends.
func retry(ctx context.Context, attempt func(context.Context) *failure) *failure {
	for pause := backoffMin; ; pause = min(2*pause, backoffMax) {
		failed := attempt(ctx)
		if failed == nil || !failed.retryable || ctx.Err() != nil {
			return failed
		}
		if transfer.Sleep(ctx, pause) != nil {
			return failed
		}
	}
}

// do sends a request. Any status but 200 is a failure. The caller closes the body.
func do(client *http.Client, request *http.Request) (*http.Response, *failure) {
	response, err := client.Do(request)
	if err != nil {
		return nil, &failure{unreachable(request.Context(), err), true}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	code := response.StatusCode
	transient := code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	return response, &failure{fmt.Sprintf("answered %d %s", code, http.StatusText(code)), transient}
}

// unreachable describes an error without addresses, because the text appears in a status.
func unreachable(ctx context.Context, err error) string {
	var number syscall.Errno
	var dns *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var wrapped *url.Error
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		return "did not answer in time"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "was too slow for the grace period of the pod"
	case errors.As(err, &untrusted):
		return "has a certificate that is not trusted"
	case errors.As(err, &number):
		return "could not be reached: " + number.Error()
	case errors.As(err, &dns):
		return "could not be reached: its name is not known"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed the connection"
	case errors.As(err, &wrapped) && wrapped.Timeout():
		return "did not answer in time"
	default:
		return "could not be reached"
	}
}

// drain makes the connection reusable.
func drain(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	response.Body.Close()
}
