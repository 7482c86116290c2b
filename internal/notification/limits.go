package notification

const (
	// maxNesting bounds objects and arrays within each other. What is read needs 2; the rest is for
	// unknown members, such as the context of a workflow, which stay below 20.
	maxNesting = 64

	// maxBranchBytes leaves room above what hosts accept (GitHub 255 bytes, GitLab about 1,000),
	// and is the bound of Suite.spec.deployment.branch.
	maxBranchBytes = 1024

	// maxSHABytes is twice the longest commit, since other text, such as an image digest with its
	// algorithm, is welcome too.
	maxSHABytes = 128

	// maxURLBytes is what browsers, proxies and code hosts take in practice.
	maxURLBytes = 2048

	// maxTextBytes bounds what people name: deployment types, deduplication keys, repositories.
	// Triggers cannot hold longer ones to compare with.
	maxTextBytes = 256

	// maxPullRequestNumber is the largest integer that every JSON reader keeps exactly.
	maxPullRequestNumber = 1<<53 - 1

	// maxVariables, maxVariableName and maxVariableValue are the bounds of the API type Variables. A
	// Linux process takes at most 128 KiB as one variable, and pays for each when it starts.
	maxVariables     = 128
	maxVariableName  = 256
	maxVariableValue = 32 << 10

	// maxVariablesBytes bounds the names and values of all variables, added up in bytes. They are
	// stored in the Suite and again in its Job, so a few dozen runs must fit into a page of a list.
	maxVariablesBytes = 64 << 10

	// maxQuoted bounds what an error repeats of the body, in bytes: it ends in logs.
	maxQuoted = 64
)
