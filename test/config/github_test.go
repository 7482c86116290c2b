package config

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

// TestWorkflows checks the workflows of CI, and that each action has a major version.
func TestWorkflows(t *testing.T) {
	root := folder(t, "..")
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, filepath.Join(root, ".github", "workflows", "*.yml")) {
		text := read(t, path)
		problems, err := linter.Lint(path, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
		for _, use := range regexp.MustCompile(`uses: *(\S+)`).FindAllSubmatch(text, -1) {
			if !regexp.MustCompile(`@v\d+$`).Match(use[1]) {
				t.Errorf("%s: %s is not at a major version", path, use[1])
			}
		}
		broken := strings.Replace(string(text), "runs-on:", "run-on:", 1)
		if problems, err := linter.Lint(path, []byte(broken), nil); err != nil || len(problems) == 0 {
			t.Errorf("%s: the linter accepts run-on (%v): it did not read the workflow", path, err)
		}
	}
}

// issueForm is an issue form that GitHub accepts.
type issueForm struct {
	Name, Description string
	Labels            []string
	Body              []struct {
		Type       string
		ID         string
		Attributes struct {
			Label, Description, Value, Placeholder, Render string
			Options                                        []any
		}
		Validations struct{ Required bool }
	}
}

// TestIssueForms: GitHub silently ignores an invalid issue form.
func TestIssueForms(t *testing.T) {
	for _, path := range glob(t, filepath.Join(folder(t, ".."), ".github", "ISSUE_TEMPLATE", "*.yml")) {
		form := issueForm{}
		if err := yaml.UnmarshalStrict(read(t, path), &form); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if form.Name == "" || form.Description == "" || len(form.Body) == 0 {
			t.Errorf("%s: a form has a name, a description and a body", path)
		}
		seen, required := map[string]bool{}, false
		for i, item := range form.Body {
			a := item.Attributes
			switch item.Type {
			case "markdown":
				if a.Value == "" || item.ID != "" {
					t.Errorf("%s: item %d: markdown has a value and no id", path, i)
				}
				continue
			case "input", "textarea":
			case "dropdown", "checkboxes":
				if len(a.Options) == 0 {
					t.Errorf("%s: %s has no options", path, item.ID)
				}
			default:
				t.Errorf("%s: item %d: there is no type %q", path, i, item.Type)
			}
			if item.ID == "" || a.Label == "" || seen[item.ID] || seen[a.Label] {
				t.Errorf("%s: item %d has no id or label of its own", path, i)
			}
			seen[item.ID], seen[a.Label] = true, true
			required = required || item.Validations.Required
		}
		if !required {
			t.Errorf("%s: nothing is required", path)
		}
	}
}

// TestDependabot: every module of the Makefile is kept up to date, and what verify tidies is the same.
func TestDependabot(t *testing.T) {
	root := folder(t, "..")
	var config struct {
		Version int
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
			Schedule    struct{ Interval string }
			Groups      map[string]map[string][]string
		}
	}
	if err := yaml.UnmarshalStrict(read(t, filepath.Join(root, ".github", "dependabot.yml")), &config); err != nil || config.Version != 2 {
		t.Fatalf("version %d: %v", config.Version, err)
	}
	directories := map[string][]string{}
	for _, update := range config.Updates {
		for _, directory := range update.Directories {
			directories[update.Ecosystem] = append(directories[update.Ecosystem], strings.TrimPrefix(directory, "/"))
		}
	}
	if diff := cmp.Diff(modules(t, filepath.Join(root, "Makefile"), `(?m)^MODULES := (.*)$`), sorted(directories["gomod"])); diff != "" {
		t.Errorf("modules of the Makefile (-) and directories of gomod (+):\n%s", diff)
	}
	if diff := cmp.Diff(modules(t, filepath.Join(root, "hack", "verify.sh"), `(?m)^for mod in (.*); do$`), sorted(directories["gomod"])); diff != "" {
		t.Errorf("modules of verify.sh (-) and directories of gomod (+):\n%s", diff)
	}
	for manifest, found := range map[string][]string{"go.mod": directories["gomod"], "package.json": directories["npm"]} {
		for _, directory := range found {
			if _, err := os.Stat(filepath.Join(root, directory, manifest)); err != nil {
				t.Error(err)
			}
		}
	}
}

// modules that a line of a file lists, with "" for the root.
func modules(t *testing.T, path, line string) []string {
	t.Helper()
	m := regexp.MustCompile(line).FindSubmatch(read(t, path))
	if m == nil {
		t.Fatalf("%s lists no modules", path)
	}
	list := strings.Fields(string(m[1]))
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], ".")
	}
	return sorted(list)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no %s (%v)", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
