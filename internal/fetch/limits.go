package fetch

import "time"

const (
	// bufferBytes is what is held of a file at a time.
	bufferBytes = 256 << 10

	// DefaultPatience is how long nothing may arrive, in spite of retries, before it is given up: long
	// enough for a store that is being restarted or updated.
	DefaultPatience = 5 * time.Minute

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 500 * time.Millisecond
	backoffMax = 15 * time.Second

	// stallAfter ends a connection on which nothing arrives, or no answer comes.
	stallAfter = 30 * time.Second

	// progressEvery is how often the log says how far a file is.
	progressEvery = 3 * time.Second

	// maxProblemBytes bounds what is read of the store's answer to a request that failed.
	maxProblemBytes = 4 << 10
)
