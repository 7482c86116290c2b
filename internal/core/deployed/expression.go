package deployed

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

const (
	maxExpressionBytes = 1024 // bound of the API field
	maxExpressionNodes = 500  // with all macros expanded; those that people write stay below 50

	// maxCost stops an evaluation after a few milliseconds: the object may have any size, so an estimate says nothing.
	maxCost = 10_000

	maxProblem = 256 // CEL quotes what it cannot read, such as a whole annotation, and conditions are bounded
)

// compile returns a program that reads an object, or why there is none.
func compile(source string) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("the expression does not compile: %s", plaintext.Line(issues.Errors()[0].Message, maxProblem))
	}
	if kind := ast.OutputType(); !kind.IsExactType(cel.StringType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the expression gives a value of type %s, and not a string", kind)
	}
	return env.Program(ast, cel.CostTracking(costs{}), cel.CostLimit(maxCost))
}

// evaluate returns the string that an expression has for an object.
func evaluate(source string, o *unstructured.Unstructured) (string, error) {
	program, err := compile(source)
	if err != nil {
		return "", err
	}
	value, _, err := program.Eval(map[string]any{"object": o.Object})
	if err != nil {
		return "", fmt.Errorf("the expression has no value: %s", plaintext.Line(err.Error(), maxProblem))
	}
	text, ok := value.Value().(string)
	if !ok {
		return "", errors.New("the value of the expression is no string")
	}
	return text, nil
}
