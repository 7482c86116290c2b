package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"sigs.k8s.io/yaml"
)

// layers are the rules of depguard by their name, without the one about libraries.
func layers(t *testing.T, code *code) map[string][]string {
	t.Helper()
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(code.text(t, ".golangci.yml")), &config); err != nil {
		t.Fatal(err)
	}
	files := map[string][]string{}
	for name, rule := range config.Linters.Settings.Depguard.Rules {
		files[name] = rule.Files
	}
	delete(files, "libraries")
	return files
}

// covers reports whether a rule with these patterns is about a file.
func covers(t *testing.T, patterns []string, file string) (is bool) {
	t.Helper()
	for _, pattern := range patterns {
		if pattern == "!$test" {
			continue
		}
		matched, err := doublestar.Match(strings.TrimPrefix(pattern, "!"), "/checkout/"+file)
		if err != nil {
			t.Fatal(err)
		}
		if matched {
			is = !strings.HasPrefix(pattern, "!")
		}
	}
	return is
}

// TestLayers: every package has one layer, every layer has packages, and docs/architecture.md says what each package is for.
func TestLayers(t *testing.T) {
	code := readCode(t)
	rules, page := layers(t, code), code.text(t, "docs/architecture.md")
	used := map[string]bool{}
	for path := range code.files {
		folder := filepath.Dir(path)
		root, _, _ := strings.Cut(folder, "/")
		switch root {
		case "api", "client", "cmd", "controllers", "internal":
		default:
			continue
		}
		if strings.HasPrefix(folder, "cmd/manager") {
			continue // it wires all layers
		}
		var of []string
		for name, patterns := range rules {
			if covers(t, patterns, path) {
				of, used[name] = append(of, name), true
			}
		}
		if len(of) != 1 {
			t.Errorf("%s falls under the rules %q of .golangci.yml, want one", path, of)
		}
		if root != "cmd" && !strings.HasSuffix(folder, "test") && !strings.Contains(page, "`"+folder+"`") {
			t.Errorf("docs/architecture.md does not say what %s is for", folder)
		}
	}
	for name := range rules {
		if !used[name] {
			t.Errorf("the rule %s of .golangci.yml covers no package", name)
		}
	}
}
