package fetch

import "time"

const (
	bufferBytes = 256 << 10 // how much of a file is in memory at a time

	// DefaultPatience is how long Fetch retries although nothing arrives: long enough for a restart or an update of the store.
	DefaultPatience = 5 * time.Minute

	// firstPause and longestPause are the parts of the patience that the pauses between attempts are: half a second to 15 by default.
	firstPause, longestPause = 600, 20

	stallAfter    = 30 * time.Second // ends a connection on which nothing arrives
	progressEvery = 3 * time.Second  // the interval between log lines on the progress of a file
	maxErrorBytes = 4 << 10          // bounds what is read of the body of an error
)
