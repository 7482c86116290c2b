package record

// Limits on the files that the tests of a run leave behind. A run counts what all of its pods have stored.
const (
	// MaxArtifacts bounds the files of a run: as many as one listing of a store returns.
	MaxArtifacts = 1000

	// MaxArtifactBytes bounds a file, which stores take in one request up to 5 GiB. Videos of tests are smaller.
	MaxArtifactBytes = 1 << 30

	// MaxRunBytes bounds all files of a run.
	MaxRunBytes = 2 << 30

	// MaxResultsBytes bounds the results document of a pod: 1,000 failures and 1,000 files with the longest texts have
	// less than 6 MiB.
	MaxResultsBytes = 8 << 20

	// MaxComparedPods bounds the pods of a run with which a later run is compared. Of each, its collector reads the
	// results document.
	MaxComparedPods = 50
)
