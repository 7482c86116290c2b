package tier

import (
	"fmt"
	"testing"
	"time"
)

// AtMost compares a time with a bound, each night. It measures once more, and says so, because something else may have used the
// machine. If a change waits for it, it measures, and compares nothing.
func AtMost(t testing.TB, what string, bound time.Duration, measure func() time.Duration) {
	t.Helper()
	took := measure()
	if Change() {
		return
	}
	if took > bound {
		fmt.Printf("REPEATED test=%s what=%q milliseconds=%d bound_milliseconds=%d\n", t.Name(), what, took.Milliseconds(), bound.Milliseconds())
		took = measure()
	}
	if took > bound {
		t.Errorf("%s took %s, want %s at most", what, took, bound)
	}
}
