package history

import "github.com/postflight-dev/postflight/internal/core/junit"

const (
	// Bounds of the tests of a run.
	maxTests     = junit.MaxTests // that are kept: as many as are read of a pod
	maxRaw       = 96 << 20       // bounds the log of a pod, unpacked, in bytes: 200,000 tests with 1 MiB of texts have half of it
	maxLine      = 64 << 10       // bounds a line, in bytes: the longest texts, escaped, have less
	maxRunBytes  = 32 << 20       // bounds its names, files and messages, in memory: 200,000 tests of ordinary names have 25 MiB
	maxTexts     = 1 << 20        // bounds the texts of the failures of a run, and of a place on a day, in bytes
	maxName      = 512            // of a test, of its suite and of its file, in bytes, as in a report
	maxMessage   = 1024           // in bytes, as in a status
	maxText      = 4 << 10        // in bytes, as in a results document
	maxMillis    = 7 * 24 * 3600 * 1000
	maxCommitURL = 1024

	// Bounds of a day.
	maxResults  = 2_000_000 // tests times runs of a place, of which a day has the newest: one needs 5 bytes while the day is made
	maxNames    = 150_000   // tests of a place: runners that put times or random numbers into names have new ones in each run
	maxBlock    = 128 << 10 // bytes that a reader unpacks to find a test: less than a millisecond of work
	maxFailing  = 200       // tests of a place that failed, with their names: a day on which more fail tells little about each
	maxSlow     = 50        // slowest tests of a place
	maxSayings  = 5         // messages of a test that differ, and tell more than the fifth
	maxSentence = 120       // of why a run ended in Error, in bytes: enough for a line of a table

	// Bounds of an answer.
	maxLast    = 60 // runs of a test: two months of one a day, or an afternoon
	maxRanking = 10 // of the least reliable, and of the slowest tests
	maxEnds    = 12 // ways in which runs ended
)

// StripRuns is how many outcomes are shown beside the name of a test: what fits into a line.
const StripRuns = 24
