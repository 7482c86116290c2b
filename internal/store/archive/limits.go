package archive

import "time"

const (
	// head and tail of a log are kept, in bytes: the start and the end of the tests. The middle of such a long log is mostly repetition.
	head = 4 << 20
	tail = 12 << 20

	maxLine          = 64 << 10         // how far a cut moves to reach the end of a line, in bytes. Longer lines are cut within
	maxRecord        = 8 << 20          // bounds a record that is read, in bytes: a Suite twice over, which is at most 1.5 MiB in etcd
	readers          = 8                // how many records of a page are read at once: with 10 ms each, 100 take 125 ms
	downloadLifetime = 15 * time.Minute // long enough to begin a download by hand, and so short that a URL in a log is soon useless
	clearAfter       = time.Minute      // how long after its election a leader clears up: until then it has more urgent work

	// clearEvery bounds how long expired records remain. Finding that there is nothing to delete takes one request per team.
	clearEvery = time.Hour

	batch = 1000 // how many keys a request lists, as S3 allows at most, and how many are collected before they are deleted
)
