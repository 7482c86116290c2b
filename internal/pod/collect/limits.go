package collect

import "time"

const (
	// maxEntries bounds the memory for a directory with more files than are ever kept.
	maxEntries = 100_000

	// uploadsAtOnce is enough to fill a network with small files, and few enough not to starve a large one.
	uploadsAtOnce = 4

	// previousTimeout bounds the reading of the results to compare with, which are worth less than the files.
	previousTimeout = 5 * time.Second

	// backoffMin and backoffMax bound the pauses between attempts.
	backoffMin = 250 * time.Millisecond
	backoffMax = 4 * time.Second

	// maxRequestBytes bounds the list of files in one request: the manager accepts 512 KiB.
	maxRequestBytes = 400 << 10

	// maxAnswerBytes bounds an answer of the manager: 1,000 signed URLs with the token of a temporary credential.
	maxAnswerBytes = 8 << 20

	// maxProblems bounds the sentences in the results document.
	maxProblems = 100

	// maxPath bounds a path in a sentence or in the log, in bytes.
	maxPath = 150

	// reportEvery is how often the termination message is brought up to date during uploads, in case of a SIGKILL.
	reportEvery = time.Second
)

// Patience is how long the manager or the store may do nothing before the collector gives up. Files are worth waiting for while a
// replica restarts, or is busy; the other half of the time is for their uploads.
func Patience(budget time.Duration) time.Duration { return budget / 2 }

// reserve is what uploads leave of the time for the results document.
func reserve(budget time.Duration) time.Duration { return min(budget/10, 3*time.Second) }
