package match

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

const claimsVariable = "claims"

// The bounds of what expressions over claims read, for their cost. A token cannot exceed them.
const (
	MaxClaims         = 128
	MaxClaimNameBytes = 256
	MaxClaimBytes     = 8 << 10
)

var claimsEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return language(cel.Variable(claimsVariable, cel.MapType(cel.StringType, cel.StringType)))
})

// Claims is an expression over the claims of a token, in the language and within the bounds of those over notifications.
type Claims struct {
	program cel.Program
	named   []string
}

// CompileClaims returns an error that continues the sentence "The expression ...".
func CompileClaims(source string) (*Claims, error) {
	env, err := claimsEnvironment()
	if err != nil {
		return nil, err
	}
	tree, program, err := compile(env, source, claimsSize)
	if err != nil {
		return nil, err
	}
	return &Claims{program, namedClaims(tree)}, nil
}

func claimsSize(path []string) (uint64, bool) {
	switch {
	case len(path) == 0 || path[0] != claimsVariable:
		return 0, false
	case len(path) == 1:
		return MaxClaims, true
	case path[1] == "@keys":
		return MaxClaimNameBytes, true
	}
	return MaxClaimBytes, true
}

// Names reports whether the expression reads one of the claims by its name.
func (c *Claims) Names(claims ...string) bool {
	return slices.ContainsFunc(claims, func(name string) bool { return slices.Contains(c.named, name) })
}

// Evaluate returns nil if the expression is true, or an error that continues the sentence "The expression ...". A missing claim is an
// error.
func (c *Claims) Evaluate(claims map[string]string) error {
	value, _, err := c.program.Eval(map[string]any{claimsVariable: claims})
	switch {
	case err != nil:
		return fmt.Errorf("has no value for this token: %s", oneLine(err.Error()))
	case value != types.True:
		return errFalseForToken
	}
	return nil
}

var errFalseForToken = errors.New("is false for this token")

// namedClaims are NAME of claims.NAME and claims['NAME'].
func namedClaims(a *ast.AST) (names []string) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.AllMatcher()) {
		switch e.Kind() {
		case ast.SelectKind:
			if isClaims(e.AsSelect().Operand()) && !e.AsSelect().IsTestOnly() {
				names = append(names, e.AsSelect().FieldName())
			}
		case ast.CallKind:
			if call := e.AsCall(); call.FunctionName() == operators.Index && isClaims(call.Args()[0]) {
				if name, isText := text(call.Args()[1]); isText {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func isClaims(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == claimsVariable }
