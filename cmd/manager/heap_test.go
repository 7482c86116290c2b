package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/postflight-dev/postflight/test/poll"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		reason string
		live   uint64
		want   int
	}{
		"at the start":  {"it is bounded, so that a heap that grows at once is collected", 0, 10_000},
		"few runs":      {"44 MiB more are the floor", 20 * mib, 220},
		"half of it":    {"Go's own rule begins here", 32 * mib, 100},
		"many runs":     {"Go's own rule counts", 500 * mib, 100},
		"no known heap": {"no overflow", math.MaxUint64 / 2, 100},
	} {
		t.Run(name, func(t *testing.T) {
			if got := gcPercent(tc.live, 64*mib); got != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCollectAbove: each collection sets GOGC, as long as the process lives.
func TestCollectAbove(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	collectAbove(0) // which means 100, so that it changes nothing for the tests after this one
	for range 3 {
		poll.Until(t, "a collection has set GOGC", func() string {
			if percent := debug.SetGCPercent(300); percent == 100 {
				return ""
			}
			runtime.GC()
			return "it is 300"
		})
	}
}
