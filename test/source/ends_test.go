package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// constants are the values of the constants of the API with a prefix, by their names.
func constants(t *testing.T, c *code, path, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, declaration := range c.files[path].Decls {
		d, ok := declaration.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.ValueSpec)
			if literal, ok := s.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(s.Names[0].Name, prefix) {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[s.Names[0].Name] = value
			}
		}
	}
	return all
}

// ends are the constants of all ends.
func ends(t *testing.T, c *code) map[string]string {
	t.Helper()
	all := constants(t, c, "api/v1alpha1/conditions.go", "Reason")
	for name, value := range all {
		if !slices.Contains(v1alpha1.Ends(), value) {
			delete(all, name)
		}
	}
	return all
}

// mayList are the files, or folders, that may name more than two ends or origins, and why.
var mayList = map[string]string{
	"api/v1alpha1/conditions.go":          "the constants, their constructors and Ends",
	"api/v1alpha1/origin.go":              "the constants, and the origin of Suites of earlier versions",
	"internal/core/state/rows.go":         "the table of states",
	"internal/core/deployment/origin/":    "the table of origins",
	"internal/core/run/failure/":          "what to do differs by end",
	"internal/core/run/rerun/":            "which requests start another attempt differs by who asks",
	"internal/usecase/dispatch/origin.go": "each origin comes with other facts",
}

// TestOneTable: nothing but the tables of states and of origins tells all of them apart, so that a new one is one row.
func TestOneTable(t *testing.T) {
	c, used := readCode(t), map[string]bool{}
	for _, names := range []map[string]string{ends(t, c), constants(t, c, "api/v1alpha1/origin.go", "Origin")} {
		for path, file := range c.files {
			root, _, _ := strings.Cut(path, "/")
			if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{"api", "client", "cmd", "controllers", "internal"}, root) {
				continue
			}
			named := map[string]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && names[id.Name] != "" {
					named[id.Name] = true
				}
				return true
			})
			if len(named) <= 2 {
				continue
			}
			allowed := false
			for listed := range mayList {
				if strings.HasPrefix(path, listed) {
					allowed, used[listed] = true, true
				}
			}
			if !allowed {
				t.Errorf("%s names %v: add what it tells apart to the rows of internal/core/state or internal/core/deployment/origin", path, named)
			}
		}
	}
	for listed := range mayList {
		if !used[listed] {
			t.Errorf("%s names few ends and origins, and need not be listed", listed)
		}
	}
}

// TestEnums: clients may ask for all states, webhooks may be told of all ends, and the API lists them. Each code host has a row.
func TestEnums(t *testing.T) {
	for path, enum := range map[string]string{
		"api/v1alpha1/conditions.go":       "validation:Enum=Queued;Started;" + strings.Join(v1alpha1.Ends(), ";") + "\n",
		"api/v1alpha1/repository_types.go": "validation:Enum=" + strings.ReplaceAll(codehost.Names(), " or ", ";") + "\n",
		"internal/server/api/openapi.yaml": "enum: [" + strings.Join(v1alpha1.States(), ", ") + "]\n",
	} {
		if !strings.Contains(read(t, path), enum) {
			t.Errorf("%s has no %s", path, enum)
		}
	}
}

// TestEndsInDocs: docs/suites.md says what each end means, and what others show of it.
func TestEndsInDocs(t *testing.T) {
	page := read(t, "docs/suites.md")
	gitHub, gitLab := codehost.Of(v1alpha1.GitHub), codehost.Of(v1alpha1.GitLab)
	for _, r := range state.All() {
		if !strings.Contains(page, "\n| "+r.Reason+" | ") {
			t.Errorf("docs/suites.md does not say what %s means", r.Reason)
		}
		shown := fmt.Sprintf("\n| %s | %s | %s | %s | %s |\n", r.Reason,
			gitHub.CheckRuns.Of(r.Reason), gitHub.Statuses.Of(r.Reason), gitLab.Statuses.Of(r.Reason), r.CDEvent)
		if r.Ended() && !strings.Contains(page, shown) {
			t.Errorf("docs/suites.md does not have the row %s", shown)
		}
	}
}

// TestOrigins: the API has no origin without a row, and no row lacks a word.
func TestOrigins(t *testing.T) {
	c := readCode(t)
	for _, value := range constants(t, c, "api/v1alpha1/origin.go", "Origin") {
		r := origin.Of(v1alpha1.Origin(value))
		if r.StartedBy == "" || r.StartedBy == value || r.CDEvent == "" {
			t.Errorf("%s has no row with all words: %+v", value, r)
		}
		if !strings.Contains(read(t, "docs/suites.md"), "`"+value+"`") {
			t.Errorf("docs/suites.md does not name the origin %s", value)
		}
	}
}
