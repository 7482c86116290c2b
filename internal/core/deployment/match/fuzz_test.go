package match

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/cel-go/cel"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// FuzzBranch compares globs with plain doublestar, and the index with the matcher: ruling out branches
// early must not change a result.
func FuzzBranch(f *testing.F) {
	f.Add("release/**", "release/1.2")
	f.Fuzz(func(t *testing.T, glob, branch string) {
		// Both come as JSON, within the bounds of the API.
		if !utf8.ValidString(glob) || !utf8.ValidString(branch) || len(glob) > 256 || len(branch) > notification.MaxBranchBytes {
			return
		}
		m, err := Compile(trigger("t", branches(glob)))
		if err != nil {
			return
		}
		n := &notification.Notification{Branch: branch}
		if got, want := m.Matches(n), reference(t, glob, branch); got != want {
			t.Errorf("%q matches %q: %t, want %t", glob, branch, got, want)
		}
		x := &Index{}
		x.Set(trigger("t", branches(glob)))
		if got, want := len(matchedBy(x, namespace, n)) == 1, m.Matches(n); got != want {
			t.Errorf("%q in an index matches %q: %t, want %t", glob, branch, got, want)
		}
		if got, want := allHeld(m.Explain(n)), m.Matches(n); got != want {
			t.Errorf("%q is explained to match %q: %t, want %t", glob, branch, got, want)
		}
	})
}

// reference is the documented rule, with doublestar's own validating match.
func reference(t *testing.T, glob, branch string) bool {
	t.Helper()
	name := strings.TrimPrefix(branch, "refs/heads/")
	pattern, excluded := strings.CutPrefix(glob, "!")
	matched, err := doublestar.Match(strings.TrimPrefix(pattern, "refs/heads/"), name)
	if err != nil {
		t.Fatalf("%q was accepted, and is invalid", glob)
	}
	return name != "" && matched != excluded
}

// FuzzExpression compiles anything, and evaluates what compiles. No expression may panic, cost more than
// estimated, or hold although it was ruled out early.
func FuzzExpression(f *testing.F) {
	f.Add("notification.variables['region'] == 'eu'", "main", "region", "eu")
	f.Fuzz(func(t *testing.T, source, branch, variable, value string) {
		if !utf8.ValidString(source + branch + variable + value) {
			return
		}
		if _, err := Compile(trigger("t", expressionOf(source))); err != nil {
			if strings.ContainsAny(err.Error(), "\n\t") || !strings.HasSuffix(err.Error(), ".") {
				t.Errorf("the error is no sentence: %q", err)
			}
			return
		}
		n := &notification.Notification{Branch: branch, Variables: map[string]string{variable: value}}
		tooLarge := len(branch) > notification.MaxBranchBytes || len(variable) > notification.MaxVariableNameBytes || len(value) > notification.MaxVariableBytes
		if source == "" || tooLarge {
			return
		}
		e, err := parseExpression(source)
		if err != nil {
			t.Fatalf("a Trigger with this expression compiled: %v", err)
		}
		for _, a := range []*activation{newActivation(n), newActivation(&notification.Notification{})} {
			checkExpression(t, e, a)
			checkCost(t, source, a)
		}
	})
}

func checkExpression(t failer, e *expression, a *activation) {
	t.Helper()
	err := e.evaluate(a)
	if err == nil && !e.mayHold(a) {
		t.Errorf("holds for %+v, and was ruled out", a.Notification)
	}
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Errorf("panicked: %v", err)
	}
}

// checkCost evaluates an expression without a limit, because cheap ones have none.
func checkCost(t failer, source string, a *activation) {
	t.Helper()
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	ast, _ := env.Compile(source)
	costs := newCosts(ast.NativeRep(), notificationSize)
	estimate, err := env.EstimateCost(ast, costs)
	if err != nil {
		t.Fatal(err)
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(costs))
	if err != nil {
		t.Fatal(err)
	}
	_, details, _ := program.Eval(a)
	if cost := details.ActualCost(); cost != nil && *cost/2 > estimate.Max {
		t.Errorf("%s costs %d, and %d was estimated", source, *cost, estimate.Max)
	}
}

// failer is a test, of this package or of rapid.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}
