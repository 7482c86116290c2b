package delegation

// Elements counts the members and elements of JSON, and the commas in its texts. Decoded, three bytes such as "{}," may take a KiB of
// memory.
func Elements(content []byte) (n int) {
	for _, b := range content {
		if b == '{' || b == '[' || b == ',' {
			n++
		}
	}
	return n
}
