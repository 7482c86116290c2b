package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// watch ends uploads that make no progress for the Patience.
func (c *Collector) watch(ctx context.Context) *transfer.Stall {
	return transfer.NewStall(ctx, c.Patience, errIdle)
}

// retry repeats an attempt while its failure is retryable, until the context ends.
func retry(ctx context.Context, attempt func(context.Context) *failure) (failed *failure) {
	retryable := func(error) (bool, time.Duration) { return failed.retryable, 0 }
	_ = transfer.Retry{Min: backoffMin, Max: backoffMax, Within: transfer.WhileContext, Retryable: retryable}.Do(ctx, func() error {
		if failed = attempt(ctx); failed == nil {
			return nil
		}
		return failed
	})
	return failed
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
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		return "did not answer in time"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "was too slow for the grace period of the pod"
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return "could not be reached: " + number.Error()
	}
	switch transfer.CauseOf(err) {
	case transfer.Untrusted:
		return "has a certificate that is not trusted"
	case transfer.UnknownHost:
		return "could not be reached: its name is not known"
	case transfer.Cut:
		return "closed the connection"
	case transfer.Silent:
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
