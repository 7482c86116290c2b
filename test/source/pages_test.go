package source

import (
	"encoding/json"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestNamesInPages: what a page names exists: the files it links to and their headings, paths, Go files, make
// targets, and the exported names of our packages.
func TestNamesInPages(t *testing.T) {
	code := readCode(t)
	if len(code.pages) < 20 {
		t.Errorf("only %d pages were found", len(code.pages))
	}
	for _, page := range code.pages {
		for _, problem := range code.problemsOf(t, page, read(t, page)) {
			t.Errorf("%s %s", page, problem)
		}
	}
}

// TestStalePagesAreFound tries the test above on each kind of name that does not exist.
func TestStalePagesAreFound(t *testing.T) {
	code := readCode(t)
	for text, want := range map[string]int{
		"[a](api.md) [b](api.md#authentication) [c](../README.md#docs) [d](https://example.com/x) [e](#here)\n## Here\n": 0,
		"[a](nowhere.md)":     1,
		"[a](api.md#nowhere)": 1,
		"[a](#nowhere)":       1,
		"`internal/core/deployment/match`, `config/crd/*`": 0,
		"`internal/nowhere/`":                              1,
		"`docs/nowhere.md`":                                1,
		"`limits.go`, `hack/verify.sh`":                    0,
		"`hack/nowhere.sh`":                                1,
		"`[x](nowhere)`":                                   0,
		"`nowhere.go`":                                     1,
		"run `make test`":                                  0,
		"run `make nowhere`":                               1,
		"```sh\nmake nowhere\n```":                         1,
		"`go test ./internal/core/deployment/match -run TestExplain`": 0,
		"`go test ./internal/core/deployment/match -v -run Nowhere`":  1,
		"`go test ./internal/...`":                                    0,
		"`go test ./nowhere`":                                         1,
		"`lifecycle.Decide`, `job.Build()`":                           0,
		"`suite.Nowhere`":                                             1,
		"`spec.match`, `feature/pay`":                                 0,
	} {
		if problems := code.problemsOf(t, "docs/page.md", text); len(problems) != want {
			t.Errorf("%q has %d problems, want %d: %q", text, len(problems), want, problems)
		}
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	fence    = regexp.MustCompile("(?ms)^```.*?^```$")
	indented = regexp.MustCompile(`(?m)^    .*$`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	testCall = regexp.MustCompile(`go test \./(\S+)[^\n]* -run '?\^?\(?(\w+)`)
	makeCall = regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)")
)

func (c *code) problemsOf(t *testing.T, page, text string) (problems []string) {
	t.Helper()
	prose := fence.ReplaceAllString(text, "")
	for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(indented.ReplaceAllString(prose, ""), "``"), -1) {
		if !strings.Contains(m[1], "://") && !c.linked(t, page, text, m[1]) {
			problems = append(problems, "links to "+m[1]+", which does not exist")
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(prose, -1) {
		for _, name := range strings.Fields(m[1]) {
			if name = strings.TrimSuffix(strings.Trim(name, ",;"), "/..."); !c.exists(filepath.Dir(page), name) {
				problems = append(problems, "names "+name+", which does not exist")
			}
		}
	}
	for _, m := range makeCall.FindAllStringSubmatch(text, -1) {
		if !c.targets[m[1]] {
			problems = append(problems, "names make "+m[1]+", which does not exist")
		}
	}
	for _, m := range testCall.FindAllStringSubmatch(text, -1) {
		if !c.tested(m[1], m[2]) {
			problems = append(problems, "names the test "+m[2]+" of "+m[1]+", which does not exist")
		}
	}
	return problems
}

// tested reports whether a package has tests whose name contains a part.
func (c *code) tested(folder, part string) bool {
	for path, file := range c.files {
		if filepath.Dir(path) != folder {
			continue
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.Name.Name, "Test") && strings.Contains(f.Name.Name, part) {
				return true
			}
		}
	}
	return false
}

// linked reports whether a relative link leads to a file, and to a heading of it.
func (c *code) linked(t *testing.T, page, text, target string) bool {
	t.Helper()
	path, anchor, _ := strings.Cut(target, "#")
	if path != "" {
		path = filepath.Join(filepath.Dir(page), path)
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return false
		}
		if anchor != "" {
			text = read(t, path)
		}
	}
	return anchor == "" || slices.ContainsFunc(heading.FindAllStringSubmatch(text, -1), func(m []string) bool {
		return slug(m[1]) == anchor
	})
}

// slug is the anchor that GitHub gives to a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

// TestNavigation: each page of docs is once in the navigation of the documentation site, and each entry is a page.
func TestNavigation(t *testing.T) {
	code := readCode(t)
	var groups []struct{ Pages []string }
	if err := json.Unmarshal([]byte(read(t, "hack/docs/navigation.json")), &groups); err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, group := range groups {
		for _, entry := range group.Pages {
			pages := pagesOf(entry, code.pages)
			if len(pages) == 0 {
				t.Errorf("hack/docs/navigation.json has %s, which is no page", entry)
			}
			for _, page := range pages {
				listed[page]++
			}
		}
	}
	for _, page := range code.pages {
		if n := listed[page]; n > 1 || n == 0 && strings.HasPrefix(page, "docs/") {
			t.Errorf("%s is %d times in hack/docs/navigation.json, want once", page, n)
		}
	}
}

// pagesOf are the pages of an entry: the page of that name, or all in a folder that ends with /**.
func pagesOf(entry string, pages []string) (of []string) {
	folder, isFolder := strings.CutSuffix(entry, "**")
	for _, page := range pages {
		if page == entry || isFolder && strings.HasPrefix(page, folder) {
			of = append(of, page)
		}
	}
	return of
}
