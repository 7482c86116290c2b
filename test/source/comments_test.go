package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamesInComments: what a comment names exists: files, paths, declarations of other packages, and words in
// mixed case. A comment that starts with a word in mixed case documents what has that name.
func TestNamesInComments(t *testing.T) {
	code := readCode(t)
	if len(code.files) < 300 {
		t.Errorf("only %d Go files were found", len(code.files))
	}
	for path, file := range code.files {
		for _, problem := range code.commentProblems(path, file) {
			t.Errorf("%s %s", path, problem)
		}
	}
}

// TestStaleCommentsAreFound tries the test above on each kind of name that does not exist.
func TestStaleCommentsAreFound(t *testing.T) {
	code := readCode(t)
	for comment, want := range map[string]int{
		"readBody is bounded: see limits.go, test/e2e/doc.go and lifecycle.Decide.": 0,
		"readBody takes 2 MiB, from example.com/x/y.go or https://e.org/z.go.":      0,
		"It is bounded: see nowhere.go.":                                            1,
		"It is bounded: see main.go.":                                               1, // of another package
		"It is bounded: see suite/nowhere.go.":                                      1,
		"It is bounded by suite.Nowhere.":                                           1,
		"It is decided in internal/nowhere.":                                        1,
		"It does what read" + "Whole did.":                                          1,
		"readNotification is bounded.":                                              1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package endpoint\n\n// "+comment+"\nfunc readBody() {}\n", parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if problems := code.commentProblems("internal/server/api/limits/x.go", file); len(problems) != want {
			t.Errorf("%q has %d problems, want %d: %q", comment, len(problems), want, problems)
		}
	}
}

// elsewhere are words in mixed case that no code here uses: of libraries, of protocols and of the language.
var elsewhere = map[string]bool{
	"AddReadyzCheck": true, "CloudEvent": true, "FallbackToLogsOnError": true, "deletionTimestamp": true,
	"ResponseController": true, "SigV4": true, "TestSomething": true, "macOS": true, "underReview": true,
	"KiB": true, "MiB": true, "GiB": true,
}

var (
	word      = regexp.MustCompile(`[\w./*-]*\w`)
	mixedCase = regexp.MustCompile(`\b[A-Za-z]*[a-z][A-Z]\w*\b`)
	marker    = regexp.MustCompile(`(?m)^\+.*$`)
)

func (c *code) commentProblems(path string, file *ast.File) (problems []string) {
	for _, group := range file.Comments {
		text := marker.ReplaceAllString(group.Text(), "")
		for _, name := range word.FindAllString(text, -1) {
			if !c.exists(filepath.Dir(path), name) || goFile.MatchString(name) && !c.beside(path, name) {
				problems = append(problems, "names "+name+", which does not exist")
			}
		}
		for _, name := range mixedCase.FindAllString(text, -1) {
			if !c.words[name] && !elsewhere[name] {
				problems = append(problems, "speaks of "+name+", which does not exist")
			}
		}
	}
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Doc == nil {
			continue
		}
		first, _, _ := strings.Cut(f.Doc.Text(), " ")
		if mixedCase.FindString(first) == first && c.words[first] && first != f.Name.Name {
			problems = append(problems, "documents "+f.Name.Name+" as "+first)
		}
	}
	return problems
}

// beside reports whether a file of that name is in the same folder, generated or not.
func (c *code) beside(path, name string) bool {
	found, _ := filepath.Glob(filepath.Join(root, filepath.Dir(path), name))
	return len(found) > 0
}
