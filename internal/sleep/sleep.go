// Package sleep waits, unless a context ends first.
package sleep

import (
	"context"
	"time"
)

// For returns nil after d, or the error of the context as soon as that ends.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d): // since Go 1.23, an unused timer is no leak
		return nil
	}
}
