package history

import (
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

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
	maxCommitURL = 512 // a longer one is left out: half a URL leads nowhere. GitLab's longest paths fit
	maxBranch    = 256 // in bytes: GitHub's longest, and more than a page shows
	maxRunID     = 253 // in bytes, as a name in Kubernetes

	// Bounds of notifications, which earlier versions kept.
	maxRepository, maxService, maxSHA = notification.MaxTextBytes, notification.MaxServiceBytes, notification.MaxSHABytes

	// Bounds of a day.
	maxResults  = 2_000_000 // tests times runs of a place; a day keeps the newest. One needs 5 bytes while the day is made
	maxNames    = 150_000   // tests of a place: runners that put times or random numbers into names have new ones in each run
	maxBlock    = 128 << 10 // bytes that a reader unpacks to find a test: less than a millisecond of work
	maxFailing  = 200       // tests of a place that failed, with their names: a day on which more fail tells little about each
	maxSlow     = 50        // slowest tests of a place
	maxSayings  = 5         // messages of a test that differ, and tell more than the fifth
	maxSentence = 120       // of why a run ended in Error, in bytes: enough for a line of a table

	maxItem     = 1 << 20   // bounds a run, or a test in a ranking with its outcomes, while a day is read, in bytes
	maxTestLine = 256 << 10 // bounds a test of a place, beside what it needs for each run, in bytes: its texts, escaped
	lineOfRun   = 20        // bytes of a test for each run: its outcome, its time, and its number in a failure

	// Bounds of an answer.
	maxLast    = 60 // runs of a test: two months of one a day, or an afternoon
	maxRanking = 10 // of the least reliable, and of the slowest tests
	maxEnds    = 12 // ways in which runs ended

	// What an answer holds while it reads days: together 6 MiB at most.
	maxSpread       = 1 << 15 // different values with exact quantiles: 54 minutes in tenths of a second
	maxSpreadIfFull = 64      // the same of a test in a place, once the answer has its 4 MiB
	maxEndings      = 1000    // ways in which runs ended, before the rare ones are one
	maxRanked       = 2 << 20 // bytes of tests that failed; the newest days come first: 7,000 tests with ordinary names
	maxSlowness     = 3 << 19 // bytes of slow tests, enough for 50 places each day
	maxSeen         = 4 << 20 // bytes of the history of a test: 200 places
	statsCost       = 224     // of a test in a ranking, beside its texts, in bytes
	valueCost       = 24      // of a value with exact quantiles, in bytes
	commitCost      = 40      // of a commit in the history of a test, in bytes: a map has two entries of 9 bytes for each while it grows
	seenCost        = 1024    // of a place in the history of a test, and a quarter of it of each run that is shown, beside texts, in bytes

	// MaxPlaces bounds the Triggers and Environments of an answer.
	MaxPlaces = 2000
)

// StripRuns is how many outcomes are shown beside the name of a test: what fits into a line.
const StripRuns = 24
