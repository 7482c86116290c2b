package record

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// momentLayouts are how people write a time. Without a zone, it is in UTC.
var momentLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// maxAhead is how far the clock of who asks may be ahead.
const maxAhead = time.Minute

// ParseMoment reads a time in the past, or how long ago it was, such as 3h or 7d.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if ago, ok := ago(text); ok {
		return now.Add(-ago).UTC(), nil
	}
	for _, layout := range momentLayouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if at.After(now.Add(maxAhead)) {
			return at, fmt.Errorf("%s is in the future", at.UTC().Format(time.RFC3339))
		}
		return at.UTC(), nil
	}
	return time.Time{}, fmt.Errorf(
		"%q is no time: write 2026-11-24T10:00Z, 2026-11-24 10:00 (in UTC), or how long ago it was, such as 3h or 7d", plaintext.Line(text, 64))
}

// maxDays is longer than anything is kept.
const maxDays = 36_500

func ago(text string) (time.Duration, bool) {
	d, err := plaintext.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= maxDays*24*time.Hour
}
