package match

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// requirements returns the comparisons that an expression joins by &&, such as notification.variables['service'] == 'shop', as keys of
// the index. Checking one takes a fiftieth of an evaluation, so a team may have thousands of Triggers.
func requirements(e ast.Expr) []bucketKey {
	if e.Kind() != ast.CallKind {
		return nil
	}
	args := e.AsCall().Args()
	var found []bucketKey
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

func comparison(left, right ast.Expr) []bucketKey {
	variable, isVariable := variableOf(left)
	value, isText := text(right)
	if !isVariable || !isText {
		return nil
	}
	return []bucketKey{{field: variableKey, variable: variable, value: value}}
}

// variableOf returns NAME of notification.variables['NAME'] or notification.variables.NAME.
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
