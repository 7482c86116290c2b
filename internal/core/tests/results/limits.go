package results

import "github.com/postflight-dev/postflight/internal/core/tests/junit"

const (
	maxStatusFailures            = 20                     // from the schema of the status
	maxStatusBytes               = 8 << 10                // bounds the texts of these failures, in bytes: each replica keeps them in memory
	maxName, maxFile, maxMessage = 512, 512, 1024         // bound the texts of a failure, in bytes, as the schema of the status does
	maxProblem                   = 512                    // bounds the sentences about lost files and reports, in bytes
	maxRun                       = 253                    // bounds the name of the run compared with, in bytes
	maxCount                     = junit.MaxTests         // bounds each count of a pod: no more tests are read
	maxText                      = 8 << 10                // bounds each text and value of an attribute, in bytes: more than is shown of any
	maxBody                      = 4 << 10                // bounds the text of a failure in a document, in bytes
	maxDetails                   = 1 << 20                // bounds texts and attachments of the failures of a document, before JSON escapes
	maxAttachments               = 8                      // bounds the attachments of a failure
	maxFlaky, maxStatusFlaky     = 20, 5                  // bound the names in a document and in a status
	maxSet                       = 400                    // bounds the names in a set, so that it fits into a message beside the counts
	maxFailures                  = 1000                   // bounds the failures with name and message in a document
	maxTestMilliseconds          = 7 * 24 * 3600 * 1000   // a week, as for a run; it fits into 32 bits
	maxMilliseconds              = 365 * 24 * 3600 * 1000 // a year, for all tests
	maxQuarantine                = 63                     // bounds the name of a Quarantine, in bytes, as its schema does
	maxQuarantines               = 20                     // of a run, from the schema of the status
	maxBytes                     = 1 << 40                // bounds the size of all files of a pod: far more than is ever kept
	messageBytes                 = 4 << 10                // what Kubernetes keeps of a termination message; several share 12 KiB
	leastMessage                 = 16                     // too short to be shortened, in bytes
	sentenceName                 = 200                    // bounds the name of a test in the message of a run, in bytes, for people to read
)
