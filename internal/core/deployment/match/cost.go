package match

import (
	"cmp"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// costs gives CEL the largest sizes of what expressions read, and the cost of regular expressions, which CEL counts by their length:
// (x?){100} has 9 characters and 403 instructions, and each may run at each character of the text.
type costs struct {
	regexes map[string]uint64 // pattern -> its instructions
	size    func(path []string) (largest uint64, known bool)
}

func newCosts(a *ast.AST, size func(path []string) (uint64, bool)) *costs {
	c := &costs{regexes: map[string]uint64{}, size: size}
	for _, pattern := range patterns(a) {
		source, _ := text(pattern)
		if size, err := regexSize(pattern); err == nil {
			c.regexes[source] = uint64(size)
		}
	}
	return c
}

// EstimateSize is in characters or elements.
func (c *costs) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	largest, known := c.size(node.Path())
	if !known {
		return nil
	}
	return &checker.SizeEstimate{Max: largest}
}

func notificationSize(path []string) (uint64, bool) {
	if len(path) == 0 || path[0] != variableName {
		return 0, false
	}
	return maxSize(path[1:]), true
}

func maxSize(path []string) uint64 {
	switch {
	case len(path) == 0:
		return 1
	case path[0] == "branch":
		return notification.MaxBranchBytes
	case path[0] == "deployment_url", path[0] == "commit_url":
		return notification.MaxURLBytes
	case path[0] != "variables":
		return notification.MaxTextBytes
	case len(path) == 1:
		return notification.MaxVariables
	case path[1] == "@keys":
		return notification.MaxVariableNameBytes
	}
	return notification.MaxVariableBytes
}

// EstimateCallCost returns nil for calls other than matches(), which CEL estimates itself.
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
	if size := cmp.Or(node.ComputedSize(), c.EstimateSize(node)); size != nil {
		return *size
	}
	return checker.UnknownSizeEstimate()
}

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
