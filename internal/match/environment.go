package match

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
)

// environment is what expressions are compiled in: the variable notification, the part of the
// standard library whose work grows with the size of what it is given and is accounted for, and
// optional values, as in notification.variables[?'region'].orValue('eu').
//
// Left out are dyn() and type(), which get around the check of types, and times: a notification has
// none, and looking up a time zone reads files.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddIncludedFunctions(functions()...))),
		cel.OptionalTypes(),
		declareNotification,
		cel.ParserExpressionSizeLimit(maxExpressionBytes),
		cel.ParserRecursionLimit(maxExpressionDepth),
		cel.ExpressionNodeLimit(maxExpressionNodes),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(maxNestedLoops), regexValidator{}, flatValues{}),
	)
})

func functions() []*env.Function {
	names := []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Index, operators.In, overloads.Size,
		overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches,
		overloads.TypeConvertBool, overloads.TypeConvertInt, overloads.TypeConvertDouble, overloads.TypeConvertString,
	}
	functions := make([]*env.Function, 0, len(names))
	for _, name := range names {
		functions = append(functions, env.NewFunction(name))
	}
	return functions
}
