package transfer

import "fmt"

// FirstByte is where the body of an answer begins in the file, by its status and its Content-Range: rclone sends ranges with status 200,
// too. It is negative if the answer does not say.
func FirstByte(status int, contentRange string) int64 {
	const partialContent = 206
	first := int64(-1)
	if contentRange == "" && status != partialContent {
		return 0
	}
	if _, err := fmt.Sscanf(contentRange, "bytes %d-", &first); err != nil {
		return -1
	}
	return first
}
