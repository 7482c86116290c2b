package match

import (
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/postflight-dev/postflight/internal/notification"
)

// costs tells CEL what an expression costs, beforehand at its worst, and while it is evaluated: how
// large a notification can be, and what matching takes. CEL counts a regular expression by the length
// of its pattern; but (x?){100} has 9 characters and 403 instructions, each of which may be taken at
// each character of the text.
type costs struct {
	// regexes are the sizes of the patterns in the expression.
	regexes map[string]uint64
}

func newCosts(a *ast.AST) *costs {
	c := &costs{regexes: map[string]uint64{}}
	for _, pattern := range patterns(a) {
		source, _ := text(pattern)
		if size, err := regexSize(pattern); err == nil {
			c.regexes[source] = uint64(size)
		}
	}
	return c
}

// EstimateSize is the bound of a field, in characters.
func (c *costs) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 || path[0] != variableName {
		return nil
	}
	if len(path) == 1 {
		return &checker.SizeEstimate{Max: 1}
	}
	return &checker.SizeEstimate{Max: fieldSize(path[1], path[2:])}
}

func fieldSize(field string, part []string) uint64 {
	switch field {
	case "branch":
		return notification.MaxBranchBytes
	case "deployment_url", "commit_url":
		return notification.MaxURLBytes
	case "variables":
		return variablesSize(part)
	}
	return notification.MaxTextBytes
}

func variablesSize(part []string) uint64 {
	switch {
	case len(part) == 0:
		return notification.MaxVariables
	case part[0] == "@keys":
		return notification.MaxVariableNameBytes
	}
	return notification.MaxVariableBytes
}

// EstimateCallCost is the most that a match can cost; nil leaves other calls to CEL.
func (c *costs) EstimateCallCost(_, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	switch {
	case overload == overloads.MatchesString && target != nil:
		args = append([]checker.AstNode{*target}, args...)
	case overload != overloads.Matches:
		return nil
	}
	pattern, _ := text(args[1].Expr())
	size := checker.FixedSizeEstimate(c.regexes[pattern])
	return &checker.CallEstimate{CostEstimate: c.textSize(args[0]).
		Add(checker.FixedSizeEstimate(1)).
		MultiplyByCostFactor(common.StringTraversalCostFactor).
		Multiply(size.AsCost())}
}

func (c *costs) textSize(node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := c.EstimateSize(node); size != nil {
		return *size
	}
	return checker.UnknownSizeEstimate()
}

// CallCost is what a match has cost.
func (c *costs) CallCost(_, overload string, args []ref.Val, _ ref.Val) *uint64 {
	if overload != overloads.MatchesString && overload != overloads.Matches {
		return nil
	}
	matched, _ := args[0].(types.String)
	pattern, _ := args[1].(types.String)
	size := checker.FixedSizeEstimate(uint64(len(matched)) + 1).MultiplyByCostFactor(common.StringTraversalCostFactor)
	cost := size.Max * c.regexes[string(pattern)]
	return &cost
}
