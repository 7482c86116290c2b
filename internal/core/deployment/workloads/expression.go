package workloads

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
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

// Expressions keeps those of an Environment compiled: compiling takes a thousand times as long as evaluating. A nil one keeps none.
type Expressions struct {
	mu       sync.Mutex
	bySource map[string]compiled
}

type compiled struct {
	program cel.Program
	err     error
}

// NewExpressions returns one that is empty.
func NewExpressions() *Expressions { return &Expressions{bySource: map[string]compiled{}} }

// ExpressionBytes is the length of what an Environment writes as expressions. Compiled, they take some 40 times as much memory.
func ExpressionBytes(e *v1alpha1.Environment) (n int) {
	for _, w := range e.Spec.Workloads {
		for _, field := range fieldsOf(w) {
			if field.where != nil {
				n += len(field.where.Expression)
			}
		}
	}
	return n
}

func (x *Expressions) program(source string) (cel.Program, error) {
	if x == nil {
		return compile(source)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	known, found := x.bySource[source]
	if !found {
		known.program, known.err = compile(source)
		x.bySource[source] = known
	}
	return known.program, known.err
}

// evaluate returns the string that an expression has for an object.
func (x *Expressions) evaluate(source string, o *unstructured.Unstructured) (string, error) {
	program, err := x.program(source)
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
