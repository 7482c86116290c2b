package fetch

import "time"

const (
	// bufferBytes bounds how much of a file is in memory.
	bufferBytes = 256 << 10

	// DefaultPatience is how long nothing may arrive, in spite of retries, before Fetch fails: long enough to
	// restart or update a store.
	DefaultPatience = 5 * time.Minute

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 500 * time.Millisecond
	backoffMax = 15 * time.Second

	// stallAfter ends a connection if nothing arrives.
	stallAfter = 30 * time.Second

	// progressEvery is how often the progress of a file is logged.
	progressEvery = 3 * time.Second

	// maxProblemBytes bounds how much of an error of the store is read.
	maxProblemBytes = 4 << 10
)
