// Package transfer moves bytes over unreliable connections: it pauses, retries, resumes, and notices a stall.
package transfer

import (
	"context"
	"time"
)

// Sleep returns nil after d, or the error of the context as soon as that ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d): // since Go 1.23, an unused timer is no leak
		return nil
	}
}
