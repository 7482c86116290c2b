package match

const (
	// maxAlternatives bounds what the braces of all globs of a Trigger expand to: {a,b}{c,d} is 4, and a
	// glob without braces is 1. The worst globs take a millisecond for each alternative.
	maxAlternatives = 128

	// maxExpressionBytes is the bound of the API field, for Triggers that do not come from an API server.
	maxExpressionBytes = 4096

	// maxExpressionNodes and maxExpressionDepth bound the syntax tree, with all macros expanded.
	// Expressions that people write stay below 100 and 20.
	maxExpressionNodes = 2000
	maxExpressionDepth = 50

	// maxRegexProgram bounds a compiled regular expression, in instructions. A short pattern with
	// repetitions can otherwise take 100 MB, and a second on a large variable. At this bound it takes
	// 50 ms. Patterns that people write stay below 150.
	maxRegexProgram = 300

	// maxNestedLoops bounds how deep all(), exists() and the like nest. Two compare each variable with
	// each other one.
	maxNestedLoops = 2

	// maxEstimatedCost bounds the worst case of an expression, on the largest notification. It is
	// generous, because the estimate ignores the bound on the sum of all variables: it allows a search
	// in each variable, but not one for each variable in each other one.
	maxEstimatedCost = 50_000_000

	// maxCost stops an evaluation, usually after a few milliseconds, and after 20 at worst. A comparison
	// costs about 5, a search in a variable of 32 KiB 3,300, and a regular expression 1 for each of its
	// instructions and 10 characters.
	maxCost = 10_000

	// stopEvery is the work after which Match and Explain call stop. A Trigger weighs 1, plus its globs as
	// expanded, plus expressionWeight. An expression can take 50 ms and a glob 1 ms, so that the calls are
	// at most a fifth of a second apart. More would be slow: reading a clock costs as much as a glob that
	// does not match.
	stopEvery        = 64
	expressionWeight = 16

	// maxPanicBytes bounds how much of the text of a panic a message repeats.
	maxPanicBytes = 200

	// maxListed bounds how many globs or names a message repeats.
	maxListed = 5
)
