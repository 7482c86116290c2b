package match

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// requirement is a variable that must have a value for an expression to be true. To look it up takes a
// fiftieth of an evaluation, and it is a key of the index: so a team may have thousands of Triggers that
// differ in an expression such as notification.variables['service'] == 'shop'.
type requirement struct {
	variable, value string
}

func (r requirement) met(a *activation) bool {
	value, ok := a.Variables[r.variable]
	return ok && value == r.value
}

// requirements are the comparisons of a variable with a string that an expression joins by &&, if
// there are any. It is true only if all of them are.
func requirements(e ast.Expr) []requirement {
	if e.Kind() != ast.CallKind {
		return nil
	}
	args := e.AsCall().Args()
	var found []requirement
	switch e.AsCall().FunctionName() {
	case operators.LogicalAnd:
		for _, arg := range args {
			found = append(found, requirements(arg)...)
		}
	case operators.Equals:
		found = append(comparison(args[0], args[1]), comparison(args[1], args[0])...)
	}
	return found
}

func comparison(left, right ast.Expr) []requirement {
	variable, isVariable := variableOf(left)
	value, isText := text(right)
	if !isVariable || !isText {
		return nil
	}
	return []requirement{{variable: variable, value: value}}
}

// variableOf is the name in notification.variables['NAME'] or notification.variables.NAME.
func variableOf(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), !e.AsSelect().IsTestOnly() && isVariables(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == operators.Index && isVariables(call.Args()[0]) {
			return text(call.Args()[1])
		}
	}
	return "", false
}

func isVariables(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().FieldName() != "variables" {
		return false
	}
	operand := e.AsSelect().Operand()
	return operand.Kind() == ast.IdentKind && operand.AsIdent() == variableName
}

func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	value, ok := e.AsLiteral().(types.String)
	return string(value), ok
}
