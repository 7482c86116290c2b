package match

const (
	// maxAlternatives bounds what the braces of a Trigger's globs expand to, all added up: {a,b}{c,d}
	// is 4, and a glob without braces 1. Each is tried in turn, at up to a millisecond for the worst
	// of globs; and 50 small braces would make more than could ever be tried.
	maxAlternatives = 128

	// maxExpressionBytes is the bound of the API field, for Triggers that come from elsewhere.
	maxExpressionBytes = 4096

	// maxExpressionNodes and maxExpressionDepth bound the syntax tree, with all macros expanded.
	// Expressions that people write stay below 100 and 20.
	maxExpressionNodes = 2000
	maxExpressionDepth = 50

	// maxRegexProgram bounds a compiled regular expression, in instructions: a short pattern with
	// repetitions can otherwise take 100 MB, and a second on a large variable. At this bound it is
	// 50 ms. Patterns that people write stay below 150.
	maxRegexProgram = 300

	// maxNestedLoops bounds all(), exists() and the like within each other. Two compare the
	// variables with each other, and of that there is seldom need.
	maxNestedLoops = 2

	// maxEstimatedCost refuses an expression whose worst case, over a notification as large as they
	// may be, is beyond all use. It is generous, since the estimate knows nothing of the sum of all
	// variables: it allows to look for something in each variable, but not for each in each.
	maxEstimatedCost = 50_000_000

	// maxCost stops an evaluation, after a few milliseconds, or some 20 at worst. A comparison costs
	// about 5, a search in a variable of 32 KiB 3,300, a match with a regular expression one for each
	// of its instructions and 10 characters.
	maxCost = 10_000

	// stopEvery is after how much work it is asked whether to go on with matching, and weights are what
	// a Trigger counts for, whatever it turns out to cost: 1, its globs as expanded, and
	// expressionWeight. An expression can take 50 ms and a glob 1, so that is once in a fifth of a
	// second at worst; and to look at a clock costs as much as a glob that does not match.
	stopEvery        = 64
	expressionWeight = 16

	// maxPanicBytes bounds what is repeated of a panic.
	maxPanicBytes = 200

	// maxListed bounds how many globs or names a message repeats.
	maxListed = 5
)
