package match

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// expression is a compiled CEL expression.
type expression struct {
	program  cel.Program
	required []requirement
}

// errFalse is the plain reason why an expression does not hold.
var errFalse = errors.New("is false for this notification")

// compileExpression is nil for the empty expression, which is none.
func compileExpression(source string) (*expression, error) {
	if source == "" {
		return nil, nil
	}
	e, err := plan(source)
	if err != nil {
		return nil, &CompileError{Condition: expressionCondition, Reason: err.Error()}
	}
	return e, nil
}

func plan(source string) (*expression, error) {
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
		faults = append(faults, "the fields of notification are "+strings.Join(slices.Sorted(maps.Keys(subjectFields)), ", "))
	}
	return fmt.Errorf("does not compile: %s", strings.Join(faults, "; "))
}

func oneLine(message string) string {
	return strings.Join(strings.Fields(message), " ")
}

// mayHold rules out most notifications without an evaluation.
func (e *expression) mayHold(s *subject) bool {
	for _, r := range e.required {
		if !r.met(s) {
			return false
		}
	}
	return true
}

// holds is nil where the expression is true. An evaluation that fails, as the look-up of a missing
// variable does, does not hold.
func (e *expression) holds(s *subject) error {
	value, _, err := e.program.Eval(s)
	switch {
	case err != nil:
		return fmt.Errorf("has no value for this notification: %w", err)
	case value != types.True:
		return errFalse
	}
	return nil
}

func (e *expression) explain(s *subject) Condition {
	if err := e.holds(s); err != nil {
		return Condition{Name: expressionCondition, Message: "The expression " + oneLine(err.Error()) + "."}
	}
	return Condition{Name: expressionCondition, Held: true, Message: "The expression is true."}
}
