package match

import (
	"errors"
	"regexp/syntax"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// regexValidator takes regular expressions that are written out, sound and small. To compile one that
// comes with the notification can take far longer than to match it, and no limit accounts for it.
// CEL's own limit of their size panics on a repetition such as a{2,3}, so it is not used.
type regexValidator struct{}

func (regexValidator) Name() string { return "postflight.small_regexes" }

func (regexValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, pattern := range patterns(a) {
		size, err := regexSize(pattern)
		switch {
		case err != nil:
			issues.ReportErrorAtID(pattern.ID(), "%s", err)
		case size > maxRegexProgram:
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches() takes %d instructions when compiled, and %d are allowed; repeat less", size, maxRegexProgram)
		}
	}
}

// patterns are what matches() is given, as a function or as a method.
func patterns(a *ast.AST) []ast.Expr {
	var patterns []ast.Expr
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		args := call.AsCall().Args()
		patterns = append(patterns, args[len(args)-1])
	}
	return patterns
}

// regexSize is how many instructions a pattern has when it is compiled.
func regexSize(pattern ast.Expr) (int, error) {
	source, ok := text(pattern)
	if !ok {
		return 0, errors.New("the pattern of matches() must be written out as a string")
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// flatValues refuses lists and maps of anything but plain values, and made-up messages. To compare
// lists of lists can take exponential time, since inner ones may be shared, and no limit sees it.
type flatValues struct{}

func (flatValues) Name() string { return "postflight.flat_values" }

func (flatValues) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	faulty := func(e ast.NavigableExpr) bool {
		// The name of an optional field is a literal that has no type.
		return e.Kind() == ast.StructKind || e.Kind() != ast.LiteralKind && !isFlat(e.Type())
	}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), faulty) {
		issues.ReportErrorAtID(e.ID(), "%s cannot be used; lists and maps may hold strings, numbers and booleans, of one type", e.Type())
		return
	}
}

func isFlat(t *types.Type) bool {
	switch t.Kind() {
	case types.ListKind, types.MapKind:
		for _, element := range t.Parameters() {
			if !isPlain(element) {
				return false
			}
		}
		return true
	case types.OpaqueKind:
		for _, element := range t.Parameters() {
			if !isFlat(element) {
				return false
			}
		}
	case types.DynKind, types.AnyKind:
		return false
	}
	return true
}

func isPlain(t *types.Type) bool {
	switch t.Kind() {
	case types.StringKind, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind, types.NullTypeKind:
		return true
	}
	return false
}
