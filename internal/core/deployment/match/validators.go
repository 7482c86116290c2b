package match

import (
	"errors"
	"regexp/syntax"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// regexValidator accepts only small string literals: compiling a pattern may take far longer than matching it, and no limit counts that.
// CEL's own limit of their size panics on a repetition such as a{2,3}.
type regexValidator struct{}

func (regexValidator) Name() string { return "postflight.regexes" }

func (regexValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, pattern := range patterns(a) {
		size, err := regexSize(pattern)
		switch {
		case err != nil:
			issues.ReportErrorAtID(pattern.ID(), "%s", err)
		case size > maxRegexProgram:
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches() takes %d instructions when compiled, "+
				"and %d are allowed; repeat less", size, maxRegexProgram)
		}
	}
}

func patterns(a *ast.AST) []ast.Expr {
	var patterns []ast.Expr
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		args := call.AsCall().Args()
		patterns = append(patterns, args[len(args)-1])
	}
	return patterns
}

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

// flatValues rejects messages, and nested lists and maps: they may share inner lists, so comparing them may take exponential time.
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
		return !slices.ContainsFunc(t.Parameters(), func(element *types.Type) bool { return !isPlain(element) })
	case types.OpaqueKind:
		return !slices.ContainsFunc(t.Parameters(), func(element *types.Type) bool { return !isFlat(element) })
	}
	return t.Kind() != types.DynKind && t.Kind() != types.AnyKind
}

func isPlain(t *types.Type) bool {
	switch t.Kind() {
	case types.StringKind, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind, types.NullTypeKind:
		return true
	}
	return false
}
