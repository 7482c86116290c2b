package match

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type expression struct {
	program  cel.Program
	required []bucketKey // the notification must have all

	comparesMaps bool
}

var errFalse = errors.New("is false for this notification")

func compileExpression(spec *v1alpha1.TriggerSpec) (criterion, error) {
	if spec.Match.Expression == "" {
		return nil, nil
	}
	return parseExpression(spec.Match.Expression)
}

func parseExpression(source string) (*expression, error) {
	celEnv, err := environment()
	if err != nil {
		return nil, err
	}
	tree, program, err := compile(celEnv, source, notificationSize)
	if err != nil {
		return nil, err
	}
	return &expression{program: program, required: requirements(tree.Expr()), comparesMaps: comparesMaps(tree)}, nil
}

// compile takes the largest size of what a path of names leads to, such as that of a variable.
func compile(celEnv *cel.Env, source string, size func(path []string) (uint64, bool)) (*ast.AST, cel.Program, error) {
	if len(source) > maxExpressionBytes {
		return nil, nil, fmt.Errorf("is longer than %d bytes", maxExpressionBytes)
	}
	checked, issues := celEnv.Compile(source)
	if issues.Err() != nil {
		return nil, nil, describeIssues(issues)
	}
	if !checked.OutputType().IsExactType(types.BoolType) {
		return nil, nil, fmt.Errorf("gives a value of type %s; it must be true or false", checked.OutputType())
	}
	options, err := limitCost(celEnv, checked, size)
	if err != nil {
		return nil, nil, err
	}
	program, err := celEnv.Program(checked, options...)
	return checked.NativeRep(), program, err
}

// limitCost refuses an expression whose worst case is too expensive, and stops others during evaluation. Untracked, cheap ones are twice
// as fast. The estimate is short by one for each failing call, and every call costs something, so twice the estimate is a bound.
func limitCost(celEnv *cel.Env, checked *cel.Ast, size func(path []string) (uint64, bool)) ([]cel.ProgramOption, error) {
	costs := newCosts(checked.NativeRep(), size)
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	cost, err := celEnv.EstimateCost(checked, costs)
	switch {
	case err != nil:
		return nil, err
	case cost.Max > maxEstimatedCost:
		return nil, fmt.Errorf("may cost too much: %d by estimate, and %d is allowed; "+
			"loop over less, or compare shorter texts", cost.Max, maxEstimatedCost)
	case cost.Max > maxCost/2:
		options = append(options, cel.CostTracking(costs), cel.CostLimit(maxCost))
	}
	return options, nil
}

func describeIssues(issues *cel.Issues) error {
	var faults []string
	for _, issue := range issues.Errors()[:min(len(issues.Errors()), maxListed)] {
		fault := oneLine(issue.Message)
		if line := issue.Location.Line(); line > 0 {
			fault = fmt.Sprintf("%s (line %d, column %d)", fault, line, issue.Location.Column()+1)
		}
		faults = append(faults, fault)
	}
	if strings.Contains(issues.String(), "undefined field") {
		faults = append(faults, "the fields of notification are "+strings.Join(slices.Sorted(maps.Keys(activationFields)), ", "))
	}
	return fmt.Errorf("does not compile: %s", strings.Join(faults, "; "))
}

func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }

func (e *expression) holds(a *activation) bool { return e.mayHold(a) && e.evaluate(a) == nil }

// mayHold is much cheaper than an evaluation.
func (e *expression) mayHold(a *activation) bool {
	for _, key := range e.required {
		if value, ok := a.Variables[key.variable]; (!ok || value != key.value) && !a.withholds(key.variable) {
			return false
		}
	}
	return true
}

// evaluate returns nil if the expression is true. A missing variable is an error.
func (e *expression) evaluate(a *activation) error {
	value, _, err := e.program.Eval(a)
	switch {
	case err != nil:
		return fmt.Errorf("has no value for this notification: %w", err)
	case value != types.True:
		return errFalse
	}
	return nil
}

func (e *expression) explain(a *activation) string {
	if err := e.evaluate(a); err != nil {
		return "The expression " + oneLine(err.Error()) + "."
	}
	return "The expression is true."
}

func (e *expression) weight() int { return expressionWeight }

func (e *expression) keys() [][]bucketKey {
	var choices [][]bucketKey
	for _, key := range e.required {
		choices = append(choices, []bucketKey{key})
	}
	return choices
}

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
