package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImportRules: each package that .golangci.yml names exists, so that renaming one does not switch off its
// rules, and docs/architecture.md says of each what it is for.
func TestImportRules(t *testing.T) {
	code := readCode(t)
	rules := regexp.MustCompile(`(?m)"\*\*/((?:internal|controllers|api)[\w/]*?)(?:/\*\*)?/\*\.go"|postflight-dev/postflight/([\w/]+),`).
		FindAllStringSubmatch(code.text(t, ".golangci.yml"), -1)
	if len(rules) < 20 {
		t.Errorf("only %d rules were found", len(rules))
	}
	for _, rule := range rules {
		if found, err := filepath.Glob(filepath.Join(code.root, rule[1]+rule[2])); err != nil || len(found) == 0 {
			t.Errorf(".golangci.yml has a rule for %s, which does not exist", rule[1]+rule[2])
		}
	}

	page := code.text(t, "docs/architecture.md")
	packages, err := os.ReadDir(filepath.Join(code.root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !strings.Contains(page, "`internal/"+p.Name()+"`") {
			t.Errorf("docs/architecture.md does not say what internal/%s is for", p.Name())
		}
	}
}
