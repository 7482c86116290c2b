package fetch

import "time"

const (
	// bufferBytes is how much of a file is in memory at a time.
	bufferBytes = 256 << 10

	// DefaultPatience is how long Fetch retries although nothing arrives: long enough for a restart or
	// an update of the store.
	DefaultPatience = 5 * time.Minute

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 500 * time.Millisecond
	backoffMax = 15 * time.Second

	// stallAfter ends a connection on which nothing arrives.
	stallAfter = 30 * time.Second

	// progressEvery is the interval between log lines on the progress of a file.
	progressEvery = 3 * time.Second

	// maxErrorBytes bounds what is read of the body of an error.
	maxErrorBytes = 4 << 10
)
