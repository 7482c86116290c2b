package plaintext_test

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/plaintext"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                       "0s",
		400 * time.Millisecond:                  "0s",
		1600 * time.Millisecond:                 "2s",
		90 * time.Second:                        "1m30s",
		10 * time.Minute:                        "10m",
		30 * time.Minute:                        "30m",
		2 * time.Hour:                           "2h",
		2*time.Hour + 5*time.Minute:             "2h5m",
		2*time.Hour + 5*time.Second:             "2h0m5s",
		100 * time.Hour:                         "100h",
		59*time.Minute + 59600*time.Microsecond: "59m",
	} {
		if got := plaintext.Duration(d); got != want {
			t.Errorf("Duration(%d): got %q, want %q", d, got, want)
		}
	}
}
