package junit

const (
	// MaxReport bounds a report in bytes. Reports of 200,000 tests are smaller, unless they hold the output of programs.
	MaxReport = 64 << 20

	// MaxTests bounds the tests of all reports of a pod: their names fit into the memory of its collector.
	MaxTests = 200_000

	maxDepth                  = 64      // bounds the nesting of elements: suites in suites, and text that is marked up
	maxSuite                  = 512     // bounds the name and the file of a suite in bytes: its tests repeat them
	maxNumber                 = 20      // bounds a number in bytes: a longer one may have been cut
	maxCopied                 = 1 << 20 // bounds a text in a copy in bytes: the container in a pipeline has little memory
	maxRest                   = 4 << 10 // bounds the kept end of a longer text in bytes: attachments are named after the output
	maxTagName, maxAttributes = 256, 64 // bound the rest of a tag: reports have far smaller ones
	maxNames                  = 256     // bounds the names of tags and attributes that share their memory: reports have some twenty
	maxPath                   = 200     // bounds the path of a file in a sentence, in bytes
)
