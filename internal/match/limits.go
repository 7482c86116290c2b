package match

const (
	// maxAlternatives bounds what the braces of one glob expand to: {a,b}{c,d} is 4. Matching tries
	// each in turn, and 50 small braces would make more of them than could ever be tried.
	maxAlternatives = 256

	// maxExpressionBytes is the bound of the API field, for Triggers that come from elsewhere.
	maxExpressionBytes = 4096

	// maxExpressionNodes and maxExpressionDepth bound the syntax tree, with all macros expanded.
	// Expressions that people write stay below 100 and 20.
	maxExpressionNodes = 2000
	maxExpressionDepth = 50

	// maxRegexProgram bounds a compiled regular expression, in instructions of some 40 bytes: a short
	// pattern with repetitions can otherwise take 100 MB.
	maxRegexProgram = 2000

	// maxNestedLoops bounds all(), exists() and the like within each other. Two compare the
	// variables with each other, and of that there is seldom need.
	maxNestedLoops = 2

	// maxEstimatedCost refuses an expression whose worst case, over a notification as large as they
	// may be, is beyond all use. It is generous, since the estimate knows nothing of the sum of all
	// variables.
	maxEstimatedCost = 10_000_000

	// maxCost stops an evaluation, at some milliseconds. One comparison costs about 5.
	maxCost = 20_000

	// maxListed bounds how many globs or names a message repeats.
	maxListed = 5
)
