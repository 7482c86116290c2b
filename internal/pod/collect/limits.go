package collect

import "time"

const (
	maxEntries      = 100_000         // bounds the memory for a directory with more files than are ever kept
	uploadsAtOnce   = 4               // enough to fill a network with small files, and few enough not to starve a large one
	previousTimeout = 5 * time.Second // bounds the reading of the results to compare with, which are worth less than the files

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 250 * time.Millisecond
	backoffMax = 4 * time.Second

	maxRequestBytes = 400 << 10   // bounds the list of files in one request: the manager accepts 512 KiB
	maxAnswerBytes  = 8 << 20     // bounds an answer of the manager: 1,000 signed URLs with the token of a temporary credential
	maxProblems     = 100         // bounds the sentences in the results document
	maxPath         = 150         // bounds a path in a sentence or in the log, in bytes
	reportEvery     = time.Second // how often the termination message is brought up to date during uploads, in case of a SIGKILL
)

// Patience is how long the manager or the store may be silent, for example during a restart, before the collector gives up. The other
// half of the time is for uploads.
func Patience(budget time.Duration) time.Duration { return budget / 2 }

// reserve is what uploads leave of the time for the results document.
func reserve(budget time.Duration) time.Duration { return min(budget/10, 3*time.Second) }
