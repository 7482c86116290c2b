package plaintext

import (
	"strings"
	"time"
)

// Duration formats a duration as people write it: 1m30s for 90s, 30m for 1800s.
func Duration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

const day = 24 * time.Hour

// Ago says how long ago a moment was, e.g. 3 minutes ago.
func Ago(at, now time.Time) string {
	passed := now.Sub(at)
	switch {
	case passed < time.Minute:
		return "just now"
	case passed < time.Hour:
		return Count(int(passed/time.Minute), "minute") + " ago"
	case passed < day:
		return Count(int(passed/time.Hour), "hour") + " ago"
	case passed < 2*day:
		return "yesterday"
	case passed < 30*day:
		return Count(int(passed/day), "day") + " ago"
	default:
		return "on " + at.UTC().Format("2 January 2006")
	}
}
