package plaintext

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
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

// longUnits are those that time.ParseDuration lacks. They come first, the longest before the others.
var longUnits = regexp.MustCompile(`^(?:(\d{1,3})y)?(?:(\d{1,4})w)?(?:(\d{1,5})d)?`)

// maxDays is a century: with a longer time, sums of moments overflow.
const maxDays = 36_500

// ParseDuration reads a duration as people write it: 90m, 1h30m, 7d, 1d12h, 2w. A year has 365 days.
func ParseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	found := longUnits.FindStringSubmatch(text)
	days := 0
	for i, length := range []int{365, 7, 1} {
		n, _ := strconv.Atoi(found[i+1]) // "" is 0
		days += n * length
	}
	rest, err := time.ParseDuration(cmp.Or(text[len(found[0]):], "0"))
	if err != nil || found[0] == "" || days > maxDays || rest < 0 || rest >= maxDays*day {
		return 0, fmt.Errorf("%q is no duration: write it like 90m, 12h or 7d", Line(text, 64))
	}
	return time.Duration(days)*day + rest, nil
}

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
