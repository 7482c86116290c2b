package transfer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

func TestFor(t *testing.T) {
	tests := map[string]struct {
		reason  string
		timeout time.Duration
		took    time.Duration
		err     error
	}{
		"The time passes":        {"A context that lives on changes nothing.", time.Hour, time.Minute, nil},
		"The context ends first": {"The caller does not wait for the result any more.", time.Second, time.Second, context.DeadlineExceeded},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
				defer cancel()
				began := time.Now()
				err := transfer.Sleep(ctx, time.Minute)
				if took := time.Since(began); took != tc.took || !errors.Is(err, tc.err) {
					t.Errorf("%s: got %v after %s, want %v after %s", tc.reason, err, took, tc.err, tc.took)
				}
			})
		})
	}
}
