package fetch

import "time"

const (
	bufferBytes = 256 << 10 // how much of a file is in memory at a time

	// DefaultPatience is how long Fetch retries although nothing arrives: long enough for a restart or an update of the store.
	DefaultPatience = 5 * time.Minute

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 500 * time.Millisecond
	backoffMax = 15 * time.Second

	stallAfter    = 30 * time.Second // ends a request to which nothing arrives, from the dialing on
	progressEvery = 3 * time.Second  // the interval between log lines on the progress of a file
	maxErrorBytes = 4 << 10          // bounds what is read of the body of an error
)
