package match

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/tier"
)

// The grammar generates expressions, which compile far more often than those of a fuzzer. %s stands for
// a text, %b for a boolean, %i for a number, %l for a list of texts, %m for the variables, %k for the
// variable of the loop around it.
var grammar = map[byte][]string{
	'b': {
		"true", "%s == %s", "%s != %s", "%s < %s", "%b && %b", "%b || %b", "!%b", "%b ? %b : %b", "(%b == %b)", "%i > %i", "%i == %i",
		"has(notification.branch)", "has(notification.variables.a)", "%s in %l", "%s in %m", "%s.contains(%s)", "%s.startsWith(%s)", "%s.endsWith(%s)",
		"%s.matches('^(x?){9}[a-c]+$')", "matches(%s, 'a|b')", "%l.exists(k, %b)", "%l.all(k, %b)", "%m.exists(k, %b)", "%m.all(k, %b)",
		"%m.exists_one(k, %b)", "%l == %l", "%m == %m", "notification.ephemeral_environment", "notification.?sha.hasValue()", "bool(%s)",
		"notification == notification",
	},
	's': {
		"'a'", "''", "'xxxxxxxxxxxxxxxxxxxxxxxx'", "notification.branch", "notification.sha", "%m.a", "%m['a']", "%m[%s]", "%s + %s", "string(%i)",
		"(%b ? %s : %s)", "%m[?%s].orValue(%s)", "%l[%i]", "%k", "%l[?0].or(optional.of(%s)).value()",
	},
	'i': {"1", "0", "notification.pull_request_number", "size(%s)", "%l.size()", "%m.size()", "%i + %i", "%i * %i", "%i / %i", "%i % %i", "-%i", "int(%s)"},
	'l': {"['a', 'b']", "[%s]", "[%s, %s, %s]", "%l + %l", "%l.map(k, %s)", "%l.filter(k, %b)", "%m.map(k, %s)", "%m.filter(k, %b)", "[?%m[?'a']]", "(%b ? %l : %l)"},
	'm': {"notification.variables"},
	'k': {"k", "'k'"},
}

func expressionFrom(t *rapid.T, kind byte, depth int) string {
	rules := grammar[kind]
	if depth == 0 {
		rules = rules[:1]
	}
	rule := rapid.SampledFrom(rules).Draw(t, string(kind))
	made := ""
	for i := 0; i < len(rule); i++ {
		if rule[i] == '%' && i+1 < len(rule) && grammar[rule[i+1]] != nil {
			made += expressionFrom(t, rule[i+1], depth-1)
			i++
		} else {
			made += string(rule[i])
		}
	}
	return made
}

// TestExpressionsOfGrammar checks of many expressions what FuzzExpression does, over notifications as
// large as they may be.
func TestExpressionsOfGrammar(t *testing.T) {
	tier.PinRapid(t)
	large := &notification.Notification{Branch: fmt.Sprintf("%01024d", 7), SHA: "a", Variables: map[string]string{"a": fmt.Sprintf("%032000d", 7)}}
	for i := range 120 {
		large.Variables[fmt.Sprintf("%0200d", i)] = "x"
	}
	small := &notification.Notification{Branch: "a", PullRequestNumber: 3, Variables: map[string]string{"a": "a", "k": "2"}}
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		source := expressionFrom(t, 'b', rapid.IntRange(1, 6).Draw(t, "depth"))
		e, err := parseExpression(source)
		if err != nil {
			return
		}
		compiled++
		for _, n := range []*notification.Notification{large, small, {}} {
			checkExpression(t, e, newActivation(n))
			checkCost(t, source, newActivation(n))
		}
	})
	if compiled == 0 {
		t.Error("no expression of the grammar compiled")
	}
}
