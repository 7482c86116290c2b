//go:build linux

package proc

import (
	"testing"
	"time"
)

// limit ends a test that hangs. It decides nothing else.
const limit = 3 * time.Minute

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", limit, what)
		}
	}
}
