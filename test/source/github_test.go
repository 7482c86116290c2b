package source

import (
	"io"
	"io/fs"
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

// pinned matches an action at a commit, which cannot be moved like a tag, and its version.
var pinned = regexp.MustCompile(`(uses: *\S+)@[0-9a-f]{40} # (v\d+)\.\d+\.\d+\n`)

// used is an action, but not a workflow of this repository.
var used = regexp.MustCompile(`uses: *[^. ]`)

// TestWorkflows checks the workflows of CI, and that each action is pinned. The linter knows the inputs of major versions.
func TestWorkflows(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, ".github/workflows/*.yml") {
		text := read(t, path)
		if uses, pins := len(used.FindAllString(text, -1)), len(pinned.FindAllString(text, -1)); uses != pins {
			t.Errorf("%s: of %d actions, %d are at a commit with its version behind it", path, uses, pins)
		}
		text = pinned.ReplaceAllString(text, "$1@$2\n")
		problems, err := linter.Lint(path, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
		for right, wrong := range map[string]string{"runs-on:": "run-on:", "persist-credentials:": "persist-credential:"} {
			broken := strings.Replace(text, right, wrong, 1)
			if problems, err := linter.Lint(path, []byte(broken), nil); err != nil || len(problems) == 0 {
				t.Errorf("%s: the linter accepts %s (%v): it did not read the workflow, or does not know the action", path, wrong, err)
			}
		}
	}
}

// TestReleaseIsSignedApart: what builds a release runs much code of others, and has no identity that could sign.
func TestReleaseIsSignedApart(t *testing.T) {
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/release.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"contents": "read"}, workflow.Permissions); diff != "" {
		t.Errorf("permissions of every job (-want +got):\n%s", diff)
	}
	building, signing := 0, 0
	for name, job := range workflow.Jobs {
		builds := slices.ContainsFunc(job.Steps, func(s struct{ Run string }) bool { return strings.Contains(s.Run, "make release ") })
		signs := job.Permissions["id-token"] == "write"
		if builds && len(job.Permissions) > 0 {
			t.Errorf("%s builds, and has the permissions %v", name, job.Permissions)
		}
		building, signing = building+count(builds), signing+count(signs)
	}
	if building != 1 || signing != 1 {
		t.Errorf("%d jobs build and %d sign, want one of each", building, signing)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
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
	for _, path := range glob(t, ".github/ISSUE_TEMPLATE/*.yml") {
		form := issueForm{}
		if err := yaml.UnmarshalStrict([]byte(read(t, path)), &form); err != nil {
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

// TestDependabot: every module of the Makefile is kept up to date, and so is each that verify.sh tidies in the gate.
func TestDependabot(t *testing.T) {
	var config struct {
		Version int
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
			Schedule    struct{ Interval string }
			Groups      map[string]map[string][]string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, ".github/dependabot.yml")), &config); err != nil || config.Version != 2 {
		t.Fatalf("version %d: %v", config.Version, err)
	}
	directories := map[string][]string{}
	for _, update := range config.Updates {
		for _, directory := range update.Directories {
			directories[update.Ecosystem] = append(directories[update.Ecosystem], strings.TrimPrefix(directory, "/"))
		}
	}
	if diff := cmp.Diff(modules(t, "Makefile", `(?m)^MODULES := (.*)$`), sorted(directories["gomod"])); diff != "" {
		t.Errorf("modules of the Makefile (-) and directories of gomod (+):\n%s", diff)
	}
	for _, module := range modules(t, "hack/verify.sh", `(?m)^modules=\((.*)\)$`) {
		if !slices.Contains(directories["gomod"], module) {
			t.Errorf("verify.sh tidies %q, which is no module of the Makefile", module)
		}
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
	m := regexp.MustCompile(line).FindStringSubmatch(read(t, path))
	if m == nil {
		t.Fatalf("%s lists no modules", path)
	}
	list := strings.Fields(m[1])
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
	paths, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no %s (%v)", pattern, err)
	}
	return paths
}
