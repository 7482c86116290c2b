package archive

import "time"

const (
	// head and tail of a log are kept, in bytes: how the tests started, and how they ended. What is in the middle of
	// so long a log is mostly repetition.
	head = 4 << 20
	tail = 12 << 20

	// maxLine is how far from its place a log is cut at the end of a line, in bytes. Longer lines are cut within.
	maxLine = 64 << 10

	// maxRecord bounds a record that is read, in bytes. It holds a Suite twice over, which is at most 1.5 MiB in etcd.
	maxRecord = 8 << 20

	// readers is how many records of a page are read at once: with 10 ms each, 100 take 125 ms.
	readers = 8

	// downloadLifetime is long enough to begin a download by hand, and so short that a URL in a log is soon useless.
	downloadLifetime = 15 * time.Minute

	// clearAfter is how long after its election a leader clears up: until then it has more urgent work.
	clearAfter = time.Minute

	// clearEvery bounds how long records outlive their lifetime, and deletions that failed. To find out that there
	// is nothing to delete takes one request per team.
	clearEvery = time.Hour

	// batch is how many keys a request lists, as S3 allows at most, and how many are collected before they are deleted.
	batch = 1000
)
