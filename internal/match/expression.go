package match

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// expression is a compiled CEL expression.
type expression struct {
	program  cel.Program
	required []requirement
}

// errFalse is the plain reason why an expression does not hold.
var errFalse = errors.New("is false for this notification")

func compileExpression(spec *v1alpha1.TriggerSpec) (Criterion, error) {
	if spec.Match.Expression == "" {
		return nil, nil
	}
	return parseExpression(spec.Match.Expression)
}

func parseExpression(source string) (*expression, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	if len(source) > maxExpressionBytes {
		return nil, fmt.Errorf("is longer than %d bytes", maxExpressionBytes)
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, describeIssues(issues)
	}
	if !ast.OutputType().IsExactType(types.BoolType) {
		return nil, fmt.Errorf("gives a value of type %s; it must be true or false", ast.OutputType())
	}
	options, err := limitCost(env, ast)
	if err != nil {
		return nil, err
	}
	program, err := env.Program(ast, options...)
	return &expression{program: program, required: requirements(ast.NativeRep().Expr())}, err
}

// limitCost refuses an expression that is too expensive at its worst, and has the others stopped when
// they are. One that cannot be is not watched, which makes it twice as fast. Estimates are short by
// one for each call that fails, and no call is free, so twice the estimate is what counts.
func limitCost(env *cel.Env, ast *cel.Ast) ([]cel.ProgramOption, error) {
	costs := newCosts(ast.NativeRep())
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	cost, err := env.EstimateCost(ast, costs)
	switch {
	case err != nil:
		return nil, err
	case cost.Max > maxEstimatedCost:
		return nil, fmt.Errorf("may cost too much: %d by estimate, and %d is allowed; loop over less, or compare shorter texts", cost.Max, maxEstimatedCost)
	case cost.Max > maxCost/2:
		options = append(options, cel.CostTracking(costs), cel.CostLimit(maxCost))
	}
	return options, nil
}

// describeIssues puts the errors of a compiler, which come with pictures of the source, into a line.
func describeIssues(issues *cel.Issues) error {
	var faults []string
	for _, issue := range issues.Errors() {
		if len(faults) == maxListed {
			break
		}
		fault := issue.Message
		if line := issue.Location.Line(); line > 0 {
			fault = fmt.Sprintf("%s (line %d, column %d)", fault, line, issue.Location.Column()+1)
		}
		faults = append(faults, oneLine(fault))
	}
	if strings.Contains(issues.String(), "undefined field") {
		faults = append(faults, "the fields of notification are "+strings.Join(slices.Sorted(maps.Keys(activationFields)), ", "))
	}
	return fmt.Errorf("does not compile: %s", strings.Join(faults, "; "))
}

func oneLine(message string) string {
	return strings.Join(strings.Fields(message), " ")
}

// Holds implements Criterion.
func (e *expression) Holds(a *activation) bool { return e.mayHold(a) && e.evaluate(a) == nil }

// mayHold rules out most notifications without an evaluation.
func (e *expression) mayHold(a *activation) bool {
	for _, r := range e.required {
		if !r.met(a) {
			return false
		}
	}
	return true
}

// evaluate returns nil where the expression is true. An evaluation that fails, as the look-up of a
// missing variable does, does not hold.
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

// Explain implements Criterion.
func (e *expression) Explain(a *activation) string {
	if err := e.evaluate(a); err != nil {
		return "The expression " + oneLine(err.Error()) + "."
	}
	return "The expression is true."
}

// Weight implements Criterion.
func (e *expression) Weight() int { return expressionWeight }

// Keys implements Criterion.
func (e *expression) Keys() [][]bucketKey {
	var choices [][]bucketKey
	for _, r := range e.required {
		choices = append(choices, []bucketKey{{field: variableKey, variable: r.variable, value: r.value}})
	}
	return choices
}
