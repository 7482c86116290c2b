// Package poll waits in tests for what a real server, a process or a pod does in its own time.
package poll

import (
	"fmt"
	"testing"
	"time"
)

const (
	// Limit ends a test that hangs. It decides nothing else: what takes milliseconds on an idle machine takes seconds on a busy
	// one.
	Limit = 3 * time.Minute

	interval = 20 * time.Millisecond
)

// Until waits until check returns "", and fails the test after Limit. What names that state, and check says what is missing.
func Until(t testing.TB, what string, check func() (missing string)) {
	t.Helper()
	if err := Wait(Limit, what, check); err != nil {
		t.Fatal(err)
	}
}

// True is Until for a check that has nothing to say.
func True(t testing.TB, what string, check func() bool) {
	t.Helper()
	if err := Wait(Limit, what, plain(check)); err != nil {
		t.Fatal(err)
	}
}

// Wait is for callers without a test, such as goroutines, and for states that take longer than Limit.
func Wait(limit time.Duration, what string, check func() (missing string)) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(interval) {
		missing := check()
		if missing == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s still not: %s\nlast seen: %s", limit, what, missing)
		}
	}
}

func plain(check func() bool) func() string {
	return func() string {
		if check() {
			return ""
		}
		return "it is not so"
	}
}
