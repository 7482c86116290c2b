package plaintext

import "fmt"

// Bytes formats a size for people, in the largest unit that leaves at least 1, with one decimal.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if size < 1<<10 {
			break
		}
		size, unit = size/(1<<10), next
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}
