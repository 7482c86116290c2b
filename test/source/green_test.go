package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mayPass are the files, or folders, that may say which state is green, and why.
var mayPass = map[string]string{
	"api/v1alpha1/conditions.go":      "the constant, and the constructor of the condition",
	"api/httpapi/tests.go":            "the result of a single test",
	"internal/core/state/":            "the table of states, whose row of Passed is green",
	"internal/core/run/verdict/":      "what a run and a commit have passed",
	"internal/core/run/lifecycle/":    "a run that ends is judged here, and may pass so far",
	"internal/core/report/greenlight": "the answer to pipelines has the verdict of a run",
	"internal/core/view/insights/":    "figures of runs and of single tests, by the name of their column",
}

// opinions are the places of a file that say by themselves whether a run passed.
func opinions(file *ast.File) (all []string) {
	selects := func(n ast.Node, name string) bool {
		s, ok := n.(*ast.SelectorExpr)
		return ok && s.Sel.Name == name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == "ReasonPassed" {
				all = append(all, n.Name)
			}
		case *ast.BasicLit:
			if n.Value == `"Passed"` {
				all = append(all, n.Value)
			}
		case *ast.CallExpr:
			if selects(n.Fun, "Passed") && len(n.Args) == 0 {
				all = append(all, "Passed()")
			}
			about := func(a ast.Expr) bool { return selects(a, "ConditionSucceeded") }
			if (selects(n.Fun, "IsStatusConditionTrue") || selects(n.Fun, "IsStatusConditionPresentAndEqual")) && slices.ContainsFunc(n.Args, about) {
				all = append(all, "ConditionSucceeded")
			}
		case *ast.SelectorExpr:
			if call, ok := n.X.(*ast.CallExpr); ok && n.Sel.Name == "Status" && selects(call.Fun, "Succeeded") {
				all = append(all, "Succeeded().Status")
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Greenlight" {
				all = append(all, "Greenlight:")
			}
		case *ast.AssignStmt:
			if slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool { return selects(to, "Greenlight") }) {
				all = append(all, "Greenlight =")
			}
		}
		return true
	})
	return all
}

// TestOneGreen: only the table of states says which of them is green, and only the package verdict says it of a run and of a commit.
func TestOneGreen(t *testing.T) {
	used := map[string]bool{}
	for path, file := range readCode(t).files {
		root, _, _ := strings.Cut(path, "/")
		found := opinions(file)
		if len(found) == 0 || strings.HasSuffix(path, "_test.go") || root == "test" {
			continue
		}
		allowed := slices.DeleteFunc(slices.Collect(maps.Keys(mayPass)), func(listed string) bool { return !strings.HasPrefix(path, listed) })
		for _, listed := range allowed {
			used[listed] = true
		}
		if len(allowed) == 0 {
			t.Errorf("%s decides what passed (%s): ask internal/core/run/verdict about a run or a commit, and internal/core/state about a state",
				path, strings.Join(found, ", "))
		}
	}
	for listed := range mayPass {
		if !used[listed] {
			t.Errorf("%s need not be listed", listed)
		}
	}
}

// TestOtherGreensAreFound tries the test above.
func TestOtherGreensAreFound(t *testing.T) {
	for code, want := range map[string]string{
		"s.State() == v1alpha1.ReasonPassed": "ReasonPassed",
		`run.State == "Passed"`:              `"Passed"`,
		"s.Passed()":                         "Passed()",
		"meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionSucceeded)":           "ConditionSucceeded",
		"s.Succeeded().Status == metav1.ConditionTrue":                                           "Succeeded().Status",
		"httpapi.Greenlight{Greenlight: true}":                                                   "Greenlight:",
		"func() { answer.Greenlight = true }":                                                    "Greenlight =",
		`v1alpha1.Passed("The tests passed.")`:                                                   "",
		"answer.Greenlight && state.Of(run.State).Green && verdict.RunPassed(s) && r.Passed > 0": "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n\nvar _ = "+code+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(opinions(file), ", "); got != want {
			t.Errorf("%s: found %q, want %q", code, got, want)
		}
	}
}
