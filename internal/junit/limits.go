package junit

const (
	// MaxReport is how much of a report is read, in bytes. Reports of 200,000 tests are smaller, unless they hold the output of
	// programs.
	MaxReport = 64 << 20

	// MaxTests is how many tests of a report are read, and of all reports of a pod: their names fit into the memory of its
	// collector.
	MaxTests = 200_000

	// maxDepth bounds the nesting of elements: suites in suites, and text that is marked up.
	maxDepth = 64

	// maxRest bounds what is kept of the end of a longer text, in bytes: test runners name attachments after the output of a test.
	maxRest = 4 << 10

	// maxTagName and maxAttributes bound the rest of a tag. Those of reports are far smaller.
	maxTagName, maxAttributes = 256, 64

	// maxPath bounds the path of a file in a sentence, in bytes.
	maxPath = 200
)
