package workloads

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
)

// environment is the language of expressions: object, optional values, and what looks for a text and cuts it. No value is larger than the
// object, so that no single call takes long; the limit of the cost is checked after each of them.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddIncludedFunctions(functions()...).
			AddIncludedMacros(operators.Has, operators.All, operators.Exists, operators.ExistsOne, operators.Filter))),
		cel.OptionalTypes(), ext.Strings(ext.StringsVersion(4)), cel.Variable("object", cel.DynType),
		cel.ParserExpressionSizeLimit(maxExpressionBytes), cel.ExpressionNodeLimit(maxExpressionNodes),
		cel.ASTValidators(noGrowth{}),
	)
})

func functions() []*env.Function {
	names := []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Index, operators.In, overloads.Size,
		overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.TypeConvertInt, overloads.TypeConvertString,
	}
	functions := make([]*env.Function, 0, len(names))
	for _, name := range names {
		functions = append(functions, env.NewFunction(name))
	}
	return functions
}

// growing are those of the string functions that make more text than they read: two of them could fill the memory.
var growing = map[string]bool{"replace": true, "join": true, "format": true, "strings.quote": true}

// noGrowth rejects what makes large values of small ones. Nested lists may share inner ones: comparing them may take exponential time.
type noGrowth struct{}

func (noGrowth) Name() string { return "postflight.no_growth" }

func (noGrowth) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.AllMatcher()) {
		switch {
		case e.Kind() == ast.CallKind && growing[e.AsCall().FunctionName()]:
			issues.ReportErrorAtID(e.ID(), "%s() cannot be used", e.AsCall().FunctionName())
		case e.Kind() == ast.MapKind, e.Kind() == ast.StructKind, e.Kind() == ast.ListKind && !ofLiterals(e) && !ofFilter(e):
			issues.ReportErrorAtID(e.ID(), "maps, and lists of other things than written texts and numbers, cannot be used")
		}
	}
}

func ofLiterals(list ast.NavigableExpr) bool {
	for _, element := range list.AsList().Elements() {
		if element.Kind() != ast.LiteralKind {
			return false
		}
	}
	return true
}

// ofFilter reports whether a list is what filter() adds to its result. No expression can write the name of that result.
func ofFilter(list ast.NavigableExpr) bool {
	parent, found := list.Parent()
	if !found || parent.Kind() != ast.CallKind || parent.AsCall().FunctionName() != operators.Add {
		return false
	}
	result := parent.AsCall().Args()[0]
	return result.Kind() == ast.IdentKind && result.AsIdent() == parser.HiddenAccumulatorName
}

// costs counts what a call has to look at: 1 for each element, and for 10 bytes of text. CEL itself counts many calls as 1.
type costs struct{}

func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1)
	for _, arg := range args {
		if text, ok := arg.(types.String); ok {
			cost += uint64(len(text)) / 10
		}
	}
	switch function {
	case operators.Equals, operators.NotEquals:
		cost += elements(args[0], elements(args[1], maxCost))
	case operators.In:
		cost += elements(args[1], maxCost)
	case "split":
		cost *= 10 // each byte may be an element
	}
	return &cost
}

// elements counts those of a value, and of those in it, up to a limit.
func elements(value ref.Val, limit uint64) (n uint64) {
	list, ok := value.(traits.Iterable)
	if !ok {
		return 1
	}
	mapper, isMap := value.(traits.Mapper)
	for i := list.Iterator(); n <= limit && i.HasNext() == types.True; {
		element := i.Next()
		if isMap {
			element = mapper.Get(element)
		}
		n += 1 + elements(element, limit-min(n, limit))
	}
	return n
}
