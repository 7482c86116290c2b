package results

import "github.com/postflight-dev/postflight/internal/core/junit"

const (
	// maxStatusFailures is how many failures a status has, as its schema says.
	maxStatusFailures = 20

	// maxStatusBytes bounds the texts of these failures together. Each replica keeps them in memory until the Suite is
	// deleted. One pod reports no more than half of it.
	maxStatusBytes = 8 << 10

	// maxName, maxFile and maxMessage bound the texts of a failure, in bytes, as the schema of the status does.
	maxName, maxFile, maxMessage = 512, 512, 1024

	// maxProblem bounds what is said about lost files and unreadable reports, in bytes: a few sentences.
	maxProblem = 512

	// maxRun bounds the name of the run compared with, in bytes.
	maxRun = 253

	// maxCount bounds each count of a pod: no more tests are read.
	maxCount = junit.MaxTests

	// maxText bounds each text and each value of an attribute, in bytes: more than is shown of any. The rest is skipped.
	maxText = 8 << 10

	// maxBody bounds the text of a failure in a document, in bytes.
	maxBody = 4 << 10

	// maxDetails bounds the texts and attachments of all failures of a document, in bytes. It has less than 6 MiB without
	// them, and JSON escapes some characters with another one.
	maxDetails = 1 << 20

	// maxAttachments bounds the attachments of a failure.
	maxAttachments = 8

	// maxFlaky and maxStatusFlaky bound the names of flaky tests in a document and in a status.
	maxFlaky, maxStatusFlaky = 20, 5

	// maxSet bounds the names in a set, so that it fits into a message beside the counts.
	maxSet = 400

	// maxFailures bounds the failures with name and message in a document.
	maxFailures = 1000

	// maxTestMilliseconds bounds the duration of a test: a week, as that of a run.
	maxTestMilliseconds = 7 * 24 * 3600 * 1000

	// maxMilliseconds bounds the duration of all tests: a year.
	maxMilliseconds = 365 * 24 * 3600 * 1000

	// maxBytes bounds the size of all files of a pod: far more than is ever kept.
	maxBytes = 1 << 40

	// messageBytes is how much of a termination message Kubernetes keeps of one container. Pods of more than three
	// containers get less of it: the kubelet divides 12 KiB among all.
	messageBytes = 4 << 10

	// leastMessage is a message that is too short to be shortened, in bytes.
	leastMessage = 16

	// sentenceName bounds the name of a test in the message of a run, in bytes: it is to stay readable.
	sentenceName = 200
)
