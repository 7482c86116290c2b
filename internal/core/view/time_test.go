package view_test

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/view"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestAgo(t *testing.T) {
	cases := map[time.Duration]string{
		0: "now", -time.Hour: "now", 59 * time.Second: "now", time.Minute: "1m ago", 59*time.Minute + 59*time.Second: "59m ago",
		time.Hour: "1h ago", 23*time.Hour + 59*time.Minute: "23h ago", 24 * time.Hour: "yesterday", 47 * time.Hour: "yesterday",
		48 * time.Hour: "2d ago", 29 * 24 * time.Hour: "29d ago", 30 * 24 * time.Hour: "22 Oct 2026",
	}
	for ago, want := range cases {
		if got := view.Ago(now.Add(-ago), now); got != want {
			t.Errorf("%s before now: got %q, want %q", ago, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	cases := map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 400 * time.Millisecond: "0s", 600 * time.Millisecond: "1s", 48 * time.Second: "48s",
		59*time.Second + 700*time.Millisecond: "1m 00s", 4*time.Minute + 3*time.Second: "4m 03s", 30 * time.Minute: "30m 00s",
		65 * time.Minute: "1h 05m", 52 * time.Hour: "2d 4h",
	}
	for d, want := range cases {
		if got := view.Duration(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

func TestRoughly(t *testing.T) {
	cases := map[time.Duration]string{48 * time.Second: "48s", 4*time.Minute + 40*time.Second: "5m", 65 * time.Minute: "1h 05m"}
	for d, want := range cases {
		if got := view.Roughly(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	cases := map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 219_136: "214 KiB", 16 << 20: "16 MiB", 3 << 30: "3.0 GiB", 1 << 50: "1024 TiB"}
	for n, want := range cases {
		if got := view.Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
