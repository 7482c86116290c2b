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

	// maxSuite bounds what is kept of the name and of the file of a suite, in bytes: its tests and failures repeat them.
	maxSuite = 512

	// maxNumber bounds a number, in bytes. A longer one may have been cut, and would mean another one.
	maxNumber = 20

	// maxCopied bounds each text and each value of an attribute of a copy, in bytes: more than anybody reads, and little enough for the
	// memory of a container in a pipeline.
	maxCopied = 1 << 20

	// maxRest bounds what is kept of the end of a longer text, in bytes: test runners name attachments after the output of a test.
	maxRest = 4 << 10

	// maxTagName and maxAttributes bound the rest of a tag. Those of reports are far smaller.
	maxTagName, maxAttributes = 256, 64

	// maxPath bounds the path of a file in a sentence, in bytes.
	maxPath = 200
)
