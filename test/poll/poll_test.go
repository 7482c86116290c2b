package poll_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/test/poll"
)

func TestWait(t *testing.T) {
	for name, tc := range map[string]struct {
		after   time.Duration // at which it is so
		problem string        // "": none
	}{
		"It is so at once.":  {0, ""},
		"It takes a moment.": {time.Second, ""},
		"It takes too long.": {time.Minute, "after 10s still not: the end\nlast seen: it runs"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := poll.Wait(10*time.Second, "the end", func() string {
					if time.Since(began) < tc.after {
						return "it runs"
					}
					return ""
				})
				if tc.problem == "" && err != nil || tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)) {
					t.Errorf("got %v, want %q", err, tc.problem)
				}
			})
		})
	}
}
