package results

const (
	// maxStatusFailures is how many failures a status has, as its schema says.
	maxStatusFailures = 20

	// maxName, maxFile and maxMessage bound the texts of a failure, in bytes, as the schema of the status does.
	maxName, maxFile, maxMessage = 512, 512, 1024

	// maxProblem bounds what is said about lost files and unreadable reports, in bytes: a few sentences.
	maxProblem = 512

	// maxRun bounds the name of the run compared with, in bytes.
	maxRun = 253

	// maxCount bounds each count of a pod: no more tests are read.
	maxCount = maxTests

	// maxTests is how many tests of a pod are read, so that their names fit into the memory of its collector.
	maxTests = 200_000

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
