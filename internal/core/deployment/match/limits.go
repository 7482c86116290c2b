package match

const (
	// maxAlternatives bounds what the braces of all globs of a Trigger expand to. The worst globs take a millisecond for each alternative.
	maxAlternatives    = 128
	maxExpressionBytes = 4096 // bound of the API field, for Triggers that do not come from an API server

	// These bound the syntax tree, with all macros expanded. Expressions that people write stay below 100 and 20.
	maxExpressionNodes = 2000
	maxExpressionDepth = 50

	// maxRegexProgram is in instructions. A short pattern with repetitions can otherwise take 100 MB, and a second on a large variable.
	// At this bound it takes 50 ms. Patterns that people write stay below 150.
	maxRegexProgram = 300
	maxNestedLoops  = 2 // of all(), exists() and the like; two compare each variable with each other one

	// maxEstimatedCost bounds the worst case of an expression. It is generous, because the estimate ignores maxVariablesBytes: it allows a
	// search in each variable, but not one for each variable in each other one.
	maxEstimatedCost = 50_000_000

	// maxCost stops an evaluation, usually after a few milliseconds, and after 20 at worst. A comparison costs about 5, a search in a
	// variable of 32 KiB 3,300, and a regular expression 1 for each of its instructions and 10 characters.
	maxCost = 10_000

	// stopEvery is the work after which Match and Explain call stop. A Trigger weighs 1, plus its expanded globs, plus expressionWeight. An
	// expression can take 50 ms and a glob 1 ms, so calls are at most 0.2 s apart. Reading a clock costs as much as a glob that fails.
	stopEvery        = 64
	expressionWeight = 16
	maxPanicBytes    = 200 // of the text of a panic that a message repeats
	maxListed        = 5   // globs or names that a message repeats
)
