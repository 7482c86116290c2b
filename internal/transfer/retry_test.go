package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/transfer"
)

var (
	errAgain = errors.New("try again")
	errFinal = errors.New("no use")
)

func TestRetry(t *testing.T) {
	const s = time.Second
	for name, tc := range map[string]struct {
		reason string
		retry  transfer.Retry
		least  time.Duration
		fails  int   // that many attempts; then the last one returns end
		end    error // nil: success
		moves  bool  // each attempt is a progress
		within time.Duration
		want   error
		pauses []time.Duration
	}{
		"Success": {reason: "Nothing is repeated.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext}},
		"Doubling": {reason: "The host gets time to recover.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext}, fails: 5,
			pauses: []time.Duration{s, 2 * s, 4 * s, 4 * s, 4 * s}},
		"Final": {reason: "Another attempt would fail, too.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext},
			fails: 1, end: errFinal, want: errFinal, pauses: []time.Duration{s}},
		"Attempts": {reason: "The caller bounds them.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext, Attempts: 3},
			fails: 9, want: errAgain, pauses: []time.Duration{s, 2 * s}},
		"Asked": {reason: "The host knows better.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext}, least: 10 * s,
			fails: 2, pauses: []time.Duration{10 * s, 10 * s}},
		"Never": {reason: "The caller wants one attempt.", retry: transfer.Retry{Min: s, Max: 4 * s}, fails: 9, want: errAgain},
		"Within": {reason: "No pause ends too late.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: 7 * s}, fails: 9, want: errAgain,
			pauses: []time.Duration{s, 2 * s, 4 * s}},
		"Progress": {reason: "What arrives slowly arrives.", retry: transfer.Retry{Min: s, Max: 4 * s, Within: s}, moves: true, fails: 4,
			pauses: []time.Duration{s, s, s, s}},
		"Context": {reason: "The caller does not wait for the result any more.",
			retry: transfer.Retry{Min: s, Max: 4 * s, Within: transfer.WhileContext}, fails: 9, within: 2 * s, want: context.DeadlineExceeded,
			pauses: []time.Duration{s, 2 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.within)
					defer cancel()
				}
				var pauses []time.Duration
				attempts, arrived := 0, int64(0)
				r := tc.retry
				r.Retryable = func(err error) (bool, time.Duration) { return errors.Is(err, errAgain), tc.least }
				r.Pausing = func(_ error, pause time.Duration) { pauses = append(pauses, pause) }
				if tc.moves {
					r.Progress = func() int64 { return arrived }
				}
				err := r.Do(ctx, func() error {
					arrived++
					if attempts++; attempts > tc.fails {
						return tc.end
					}
					return fmt.Errorf("attempt %d: %w", attempts, errAgain)
				})
				if diff := cmp.Diff(tc.pauses, pauses); !errors.Is(err, tc.want) || diff != "" {
					t.Errorf("%s: got %v, want %v; the pauses (-want +got):\n%s", tc.reason, err, tc.want, diff)
				}
			})
		})
	}
}
