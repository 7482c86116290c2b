package plaintext

import "fmt"

// Count writes a number of things: 1 test, 2 tests.
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
