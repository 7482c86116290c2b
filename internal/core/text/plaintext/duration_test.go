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

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90m": 90 * time.Minute, "1.5h": 90 * time.Minute, "1h30m": 90 * time.Minute, "-1h": -time.Hour, "7d": 7 * day, "0d": 0,
		"1d12h": 36 * time.Hour, "2w": 14 * day, "1y": 365 * day, "1y2w3d4h5m": 382*day + 4*time.Hour + 5*time.Minute, "30d": 30 * day,
	} {
		if got, err := plaintext.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "7", "d", "-7d", "7d-1h", "1h7d", "7D", "1.5d", "100000d", "999y9999w99999d", "7d 1h", "1d1d"} {
		if got, err := plaintext.ParseDuration(text); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
}
