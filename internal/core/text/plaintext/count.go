package plaintext

import "fmt"

// Count writes a number of things: 1 test, 2 tests.
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Share writes a part of a number of things: 6 of 7 runs.
func Share(part, all int, noun string) string { return fmt.Sprintf("%d of %s", part, Count(all, noun)) }
