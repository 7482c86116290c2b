package match

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
)

// environment is the language of expressions: notification, optional values, and those functions of the standard library whose cost grows
// with the size of their arguments and is counted. It lacks dyn() and type(), which bypass type checks, and time zones, read from files.
var environment = sync.OnceValues(func() (*cel.Env, error) { return language(declareNotification) })

func language(declare cel.EnvOption) (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddIncludedFunctions(functions()...))),
		cel.OptionalTypes(),
		declare,
		cel.ParserExpressionSizeLimit(maxExpressionBytes),
		cel.ParserRecursionLimit(maxExpressionDepth),
		cel.ExpressionNodeLimit(maxExpressionNodes),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(maxNestedLoops), regexValidator{}, flatValues{}),
	)
}

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
