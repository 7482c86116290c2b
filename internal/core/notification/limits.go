package notification

// The bounds of a notification. Lengths are in bytes of UTF-8.
const (
	// MaxNesting bounds nested objects and arrays. Known members need 2; unknown ones, such as the context of a workflow,
	// stay below 20.
	MaxNesting = 64

	// MaxBranchBytes leaves room above what hosts accept (GitHub 255 bytes, GitLab about 1,000),
	// and is the bound of Suite.spec.deployment.branch.
	MaxBranchBytes = 1024

	// MaxSHABytes is twice the longest commit: other text, such as an image digest, is accepted too.
	MaxSHABytes = 128

	// MaxURLBytes is what browsers, proxies and code hosts take in practice.
	MaxURLBytes = 2048

	// MaxTextBytes bounds deployment types, deduplication keys and repositories, as in Triggers.
	MaxTextBytes = 256

	// MaxNumber is the largest integer that every JSON parser keeps exactly.
	MaxNumber = 1<<53 - 1

	// MaxVariables, MaxVariableNameBytes and MaxVariableBytes are the bounds of the API type
	// Variables. Linux allows at most 128 KiB per variable, and copies all of them when a process starts.
	MaxVariables         = 128
	MaxVariableNameBytes = 256
	MaxVariableBytes     = 32 << 10

	// MaxVariablesBytes bounds the names and values of all variables, added up. They are stored in
	// the Suite and again in its Job, and lists of both must stay small.
	MaxVariablesBytes = 64 << 10

	// maxQuoted bounds how much of a name in the body an error repeats, because errors are logged.
	maxQuoted = 64
)
