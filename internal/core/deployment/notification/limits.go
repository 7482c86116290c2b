package notification

// The bounds of a notification. Lengths are in bytes of UTF-8.
const (
	maxNesting      = 64        // known members need 2; unknown ones, such as the context of a workflow, stay below 20
	MaxBranchBytes  = 1024      // more than hosts accept (GitHub 255, GitLab about 1,000); the bound of Suite.spec.deployment.branch
	MaxSHABytes     = 128       // twice the longest commit: other text, such as an image digest, is accepted too
	MaxServiceBytes = 128       // like Suite.spec.deployment.service: it is a part of the name of a check, for which GitLab has 255 characters
	MaxURLBytes     = 2048      // what browsers, proxies and code hosts take in practice
	MaxTextBytes    = 256       // of deployment types, deduplication keys and repositories, as in Triggers; more of a commit's message is cut
	MaxNumber       = 1<<53 - 1 // the largest integer that every JSON parser keeps exactly

	// These are the bounds of the API type Variables. Linux allows 128 KiB per variable, and copies all of them when a process starts.
	MaxVariables         = 128
	MaxVariableNameBytes = 256
	MaxVariableBytes     = 32 << 10

	// maxVariablesBytes bounds the sum of names and values: the Suite and its Job store them, and lists of both must stay small.
	maxVariablesBytes = 64 << 10
	maxQuoted         = 64 // of a name in the body that an error repeats, because errors are logged
)
