package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/apikey"
)

// TestSecurityPage: each test that docs/security.md names exists, and its regular expression finds keys.
func TestSecurityPage(t *testing.T) {
	root := folder(t, "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := testsIn(t, root)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named; is the page written otherwise?", len(named))
	}
	for _, name := range named {
		if !declared[name[1]] {
			t.Errorf("docs/security.md names %s, which does not exist", name[1])
		}
	}

	expression := regexp.MustCompile(`(?m)^    (pf_\S+)$`).FindSubmatch(page)
	if expression == nil {
		t.Fatal("docs/security.md has no regular expression for secret scanners")
	}
	scanner := regexp.MustCompile(string(expression[1]))
	for _, key := range []string{apikey.New("acme"), apikey.New(strings.Repeat("a", 63)), "pf_" + strings.Repeat("0", 38)} {
		if found := scanner.FindString("KEY=" + key + "\n"); found != key {
			t.Errorf("the regular expression finds %q in a file with %q", found, key)
		}
	}
}

// testsIn are the tests of the module.
func testsIn(t *testing.T, root string) map[string]bool {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".dev"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range declaration.FindAllSubmatch(text, -1) {
			tests[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
