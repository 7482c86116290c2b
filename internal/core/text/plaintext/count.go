package plaintext

import (
	"fmt"
	"math"
	"strings"
)

// Count writes a number of things: 1 test, 2 tests.
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Share writes a part of a number of things: 6 of 7 runs.
func Share(part, all int, noun string) string { return fmt.Sprintf("%d of %s", part, Count(all, noun)) }

// Alternatives writes a list: a, b or c.
func Alternatives(words []string) string { return joined(words, " or ") }

// All writes a list: a, b and c.
func All(words []string) string { return joined(words, " and ") }

func joined(words []string, before string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + before + words[last]
}

// Percent writes a share as a whole percentage, rounded half up. It never says all or none of what is almost all or none.
func Percent(part, all int) string {
	if all <= 0 {
		return "–"
	}
	p := 100 * float64(part) / float64(all)
	switch {
	case part > 0 && p < 1:
		return fmt.Sprintf("%.1f%%", max(p, .1))
	case part < all && p >= 99:
		return fmt.Sprintf("%.1f%%", min(p, 99.9))
	default:
		return fmt.Sprintf("%.0f%%", math.Floor(p+.5))
	}
}
