package record

// Limits on the files that the tests of a run leave behind. A run counts what all of its pods have stored.
const (
	MaxArtifacts     = 1000     // bounds the files of a run: as many as one listing of a store returns
	MaxArtifactBytes = 1 << 30  // bounds a file: stores take up to 5 GiB in one request, and videos of tests are smaller
	MaxRunBytes      = 2 << 30  // bounds all files of a run
	MaxResultsBytes  = 8 << 20  // bounds the results document of a pod: 1,000 failures and files have less than 6 MiB
	MaxTestsBytes    = 17 << 20 // bounds the log of the tests of a pod, compressed: the collector stops at 16 MiB
	MaxComparedPods  = 128      // bounds the pods of a run whose results documents are read: 64 shards, each repeated once
)
