package view

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const day = 24 * time.Hour

// Time is a moment as pages show it: relative, with the exact one on hover.
type Time struct {
	At    time.Time
	Ago   string // 12m ago
	Long  string // 12 minutes ago
	Exact string // in UTC; the browser shows the reader's own time zone instead
	Stamp string // for machines
	Clock string // in UTC: 15:04, with the date unless it is today
}

// TimeOf returns nil for the zero time.
func TimeOf(at, now time.Time) *Time {
	if at.IsZero() {
		return nil
	}
	clock := at.UTC().Format("15:04")
	if !Midnight(at).Equal(Midnight(now)) {
		clock = at.UTC().Format("2 Jan, 15:04")
	}
	return &Time{
		At: at, Clock: clock, Ago: Ago(at, now), Long: plaintext.Ago(at, now),
		Exact: at.UTC().Format("Monday, 2 January 2006, 15:04:05 UTC"), Stamp: at.UTC().Format(time.RFC3339),
	}
}

// Ago says how long ago a moment was, in a few characters, like relative-time.js.
func Ago(at, now time.Time) string {
	passed := now.Sub(at)
	switch {
	case passed < time.Minute:
		return "now"
	case passed < time.Hour:
		return fmt.Sprintf("%dm ago", passed/time.Minute)
	case passed < day:
		return fmt.Sprintf("%dh ago", passed/time.Hour)
	case passed < 2*day:
		return "yesterday"
	case passed < 30*day:
		return fmt.Sprintf("%dd ago", passed/day)
	default:
		return at.UTC().Format("2 Jan 2006")
	}
}

// Duration formats a duration as people say it: 48s, 4m 03s, 1h 05m, 2d 4h.
func Duration(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	}
}

// Roughly formats a duration without its least important part: 48s, 4m, 1h 05m.
func Roughly(d time.Duration) string {
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%dm", d.Round(time.Minute)/time.Minute)
	}
	return Duration(d)
}

// Bytes formats a size as people say it.
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if size < 10 {
		return fmt.Sprintf("%.1f %s", size, units[unit])
	}
	return fmt.Sprintf("%.0f %s", size, units[unit])
}

// Midnight returns the beginning of a day in UTC.
func Midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }

// Span names a duration by its largest unit.
func Span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return plaintext.Count(int(max(1, d/time.Minute)), "minute")
	case d < day:
		return plaintext.Count(int(d/time.Hour), "hour")
	default:
		return plaintext.Count(int(d/day), "day")
	}
}
