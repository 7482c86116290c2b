package deployed

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	maxExpressionBytes = 1024 // bound of the API field
	maxExpressionNodes = 500  // with all macros expanded; those that people write stay below 50

	// maxCost stops an evaluation after a few milliseconds: the object may have any size, so an estimate says nothing.
	maxCost = 10_000
)

var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("object", cel.DynType), cel.OptionalTypes(), ext.Strings(ext.StringsVersion(4)),
		cel.ParserExpressionSizeLimit(maxExpressionBytes), cel.ExpressionNodeLimit(maxExpressionNodes),
	)
})

// compile returns a program that reads an object, or why there is none.
func compile(source string) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("the expression does not compile: %s", strings.Join(strings.Fields(issues.Errors()[0].Message), " "))
	}
	if kind := ast.OutputType(); !kind.IsExactType(cel.StringType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the expression gives a value of type %s, and not a string", kind)
	}
	return env.Program(ast, cel.CostLimit(maxCost))
}

// evaluate returns the string that an expression has for an object.
func evaluate(source string, o *unstructured.Unstructured) (string, error) {
	program, err := compile(source)
	if err != nil {
		return "", err
	}
	value, _, err := program.Eval(map[string]any{"object": o.Object})
	if err != nil {
		return "", fmt.Errorf("the expression has no value: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	text, ok := value.Value().(string)
	if !ok {
		return "", errors.New("the value of the expression is no string")
	}
	return text, nil
}
