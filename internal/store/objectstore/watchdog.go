package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// silentError means that the store did not answer for as long as it says.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("it does not answer within %s", time.Duration(e))
}

// watch ends requests if the store does not answer in time.
func watch(ctx context.Context, patience time.Duration) *transfer.Stall {
	return transfer.NewStall(ctx, patience, silentError(patience))
}

// ask sends one request, unless the store is known to be silent.
func (b *Bucket) ask(ctx context.Context, patience time.Duration, send func(context.Context) error) error {
	if err := b.health.lastFailure(); err != nil {
		return err
	}
	w := watch(ctx, patience)
	defer w.End()
	return b.result(ctx, w.Reason(send(w)))
}

// watchedBody is the content of an object.
type watchedBody struct {
	io.Reader
	body  io.Closer
	watch *transfer.Stall
}

func (b *watchedBody) Close() error {
	b.watch.End()
	return b.body.Close()
}

// resultReader translates errors.
type resultReader struct {
	io.Reader
	result func(error) error
}

func (r resultReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.result(err)
	}
	return n, err
}
