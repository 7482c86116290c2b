package plaintext_test

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func TestDuration(t *testing.T) {
	cases := map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 42 * time.Second: "42s", 90 * time.Second: "1m30s",
		30 * time.Minute: "30m", time.Hour: "1h", 90 * time.Minute: "1h30m", 3601 * time.Second: "1h0m1s", 168 * time.Hour: "168h",
	}
	for d, want := range cases {
		if got := plaintext.Duration(d); got != want {
			t.Errorf("Duration(%s): want %q, got %q", d, want, got)
		}
	}
}
