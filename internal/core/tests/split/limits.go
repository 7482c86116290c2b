package split

const (
	maxRuns  = 5         // that are compared: enough for a median that one slow run does not change
	maxFiles = 100_000   // of a run, and of the names to split: bounds the memory of a pod
	maxKept  = 10_000    // that a run gets: more do not fit into a Job, and trying costs time
	maxName  = 4096      // of a file, in bytes: as long as a path in Linux
	maxBytes = 4 << 20   // of the names of a run: bounds the memory of the leader, which reads five runs
	maxTime  = 604800000 // of a file in a run, in milliseconds: no run takes longer than 168h
)

// MaxNames bounds the names that are read, in bytes.
const MaxNames = 64 << 20
