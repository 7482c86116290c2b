package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"sigs.k8s.io/yaml"
)

// layers are the files of the rules of depguard by their name, topics those of the topics of core. One rule is about libraries.
func layers(t *testing.T, code *code) (layers, topics map[string][]string) {
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
	if err := yaml.Unmarshal([]byte(read(t, ".golangci.yml")), &config); err != nil {
		t.Fatal(err)
	}
	layers, topics = map[string][]string{}, map[string][]string{}
	for name, rule := range config.Linters.Settings.Depguard.Rules {
		if topic, ok := strings.CutPrefix(name, "core-"); ok {
			topics[topic] = rule.Files
		} else if name != "libraries" {
			layers[name] = rule.Files
		}
	}
	return layers, topics
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

// room is the folder that docs/architecture.md describes; what each package below it does is said in the comment of the package.
func room(folder string) string {
	parts := strings.Split(folder, "/")
	depth := map[string]int{"internal": 2, "api": 2}[parts[0]]
	if strings.HasPrefix(folder, "internal/core/") {
		depth = 3
	}
	return strings.Join(parts[:max(1, min(depth, len(parts)))], "/")
}

// TestTopics: each topic of core has a rule about what it may import, but view, which may import all.
func TestTopics(t *testing.T) {
	code := readCode(t)
	_, topics := layers(t, code)
	used := map[string]bool{"view": true}
	for path := range code.files {
		folder, ok := strings.CutPrefix(filepath.Dir(path), "internal/core/")
		topic, _, _ := strings.Cut(folder, "/")
		if !ok || topic == "view" {
			continue
		}
		if used[topic] = true; !covers(t, topics[topic], path) {
			t.Errorf("%s does not fall under a rule core-%s of .golangci.yml", path, topic)
		}
	}
	if len(used) != len(topics)+1 {
		t.Errorf("core has the folders %v, and .golangci.yml rules for %d topics", used, len(topics))
	}
}

// TestLayers: every package has one layer, every layer has packages, and docs/architecture.md says what each room is for.
func TestLayers(t *testing.T) {
	code := readCode(t)
	rules, _ := layers(t, code)
	page := read(t, "docs/architecture.md")
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
		if root != "cmd" && !strings.HasSuffix(folder, "test") && !strings.Contains(page, "`"+room(folder)+"`") {
			t.Errorf("docs/architecture.md does not say what %s is for", room(folder))
		}
	}
	for name := range rules {
		if !used[name] {
			t.Errorf("the rule %s of .golangci.yml covers no package", name)
		}
	}
}

// TestPackageSizes: a package is at most as large as one person keeps in mind. Tests and generated files do not count.
func TestPackageSizes(t *testing.T) {
	const most = 2500
	lines := map[string]int{}
	for file := range readCode(t).files {
		if !strings.HasSuffix(file, "_test.go") {
			lines[filepath.Dir(file)] += strings.Count(read(t, file), "\n")
		}
	}
	delete(lines, "api/v1alpha1") // Kubernetes has one package for a version of an API, and half of it is documentation
	for folder, n := range lines {
		if n > most {
			t.Errorf("%s has %d lines, and %d are allowed: divide it by its topics", folder, n, most)
		}
	}
}
