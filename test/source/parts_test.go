package source

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// coverage is a line of hack/parts.txt: what the gate does not test below a path, a part of `make test-all` does.
type coverage struct{ path, part string }

func readParts(t *testing.T, c *code) (all []coverage) {
	t.Helper()
	for line := range strings.Lines(read(t, "hack/parts.txt")) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 {
			t.Fatalf("hack/parts.txt: %q is not a path and a part", line)
		}
		all = append(all, coverage{fields[0], fields[1]})
	}
	return all
}

// servers are modules that have no tests, but which the gate runs: its control plane with a node, and its object store.
var servers = []string{"hack/cluster", "hack/store"}

// TestParts: hack/parts.txt names what exists, and misses no module and no package that the gate leaves out.
func TestParts(t *testing.T) {
	c := readCode(t)
	table := readParts(t, c)
	parts := partsOf(t, c)
	for _, line := range table {
		if _, err := os.Stat(filepath.Join(root, line.path)); err != nil {
			t.Errorf("hack/parts.txt: %v", err)
		}
		if !slices.Contains(parts, line.part) {
			t.Errorf("hack/parts.txt: hack/test-all.sh has no part %s", line.part)
		}
	}
	for _, dir := range leftOut(t, c) {
		if slices.Contains(servers, dir) {
			continue
		}
		if !slices.ContainsFunc(table, func(line coverage) bool { return strings.HasPrefix(dir+"/", line.path) }) {
			t.Errorf("the gate runs no test of %s, and hack/parts.txt names no part that does", dir)
		}
	}
}

// partsOf are the parts of `make test-all`, which runs all of them by default.
func partsOf(t *testing.T, c *code) []string {
	t.Helper()
	script := read(t, "hack/test-all.sh")
	_, list, _ := strings.Cut(script, "parts=(")
	list, _, _ = strings.Cut(strings.TrimPrefix(list, "\"$@\")\n[ $# -gt 0 ] || parts=("), ")")
	parts := strings.Fields(list)
	for what, pattern := range map[string]struct{ file, rows string }{
		"cases of hack/test-all.sh":   {script, `(?m)^    ([a-z]+)\)`},
		"rows in docs/development.md": {read(t, "docs/development.md"), "(?m)^\\| `([a-z]+)` \\| "},
	} {
		var named []string
		for _, row := range regexp.MustCompile(pattern.rows).FindAllStringSubmatch(pattern.file, -1) {
			named = append(named, row[1])
		}
		if !slices.Equal(named, parts) {
			t.Errorf("the default of hack/test-all.sh is %v, and the %s are %v", parts, what, named)
		}
	}
	return parts
}

// testFunc is a test and its body.
var testFunc = regexp.MustCompile(`(?ms)^func (Test[A-Z]\w*)\(t \*testing\.T\) \{$(.*?)^\}`)

// notInGate is a statement by which the gate skips a test.
var notInGate = regexp.MustCompile(`(?m)^\t(tier\.(All|Nightly)|skipUnlessFull)\(t, `)

// inGate are the tests of each package of the main module: does the gate run them?
func inGate(t *testing.T, c *code, nested []string) map[string]map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	for file := range c.files {
		dir := path.Dir(file)
		ofOther := func(module string) bool { return strings.HasPrefix(dir+"/", module+"/") }
		if !strings.HasSuffix(file, "_test.go") || slices.ContainsFunc(nested, ofOther) {
			continue
		}
		for _, test := range testFunc.FindAllStringSubmatch(read(t, file), -1) {
			if packages[dir] == nil {
				packages[dir] = map[string]bool{}
			}
			packages[dir][test[1]] = !notInGate.MatchString(test[2])
		}
	}
	return packages
}

// TestPromises: the gate runs the tests that docs/development.md names as proofs.
func TestPromises(t *testing.T) {
	c := readCode(t)
	packages := inGate(t, c, nestedModules(t, c))
	_, table, _ := strings.Cut(read(t, "docs/development.md"), "\n## What proves what\n")
	table, _, _ = strings.Cut(table, "\n## ")
	proofs := regexp.MustCompile("((?:`Test\\w+`,? )+)\\(`([\\w/]+)`\\)").FindAllStringSubmatch(table, -1)
	if len(proofs) < 20 {
		t.Fatalf("only %d proofs were found", len(proofs))
	}
	for _, proof := range proofs {
		for _, test := range regexp.MustCompile(`Test\w+`).FindAllString(proof[1], -1) {
			if !packages[proof[2]][test] {
				t.Errorf("docs/development.md: the gate runs no %s in %s", test, proof[2])
			}
		}
	}
}

// leftOut are the modules of their own, which the gate does not run, and the packages all of whose tests it skips.
func leftOut(t *testing.T, c *code) (dirs []string) {
	t.Helper()
	dirs = nestedModules(t, c)
	for dir, tests := range inGate(t, c, dirs) {
		if !slices.Contains(slices.Collect(maps.Values(tests)), true) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// nestedModules are the folders of the modules in this one.
func nestedModules(t *testing.T, c *code) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(made, d.Name()):
			return filepath.SkipDir
		case d.Name() == "go.mod" && filepath.Dir(file) != root:
			dir, err := filepath.Rel(root, filepath.Dir(file))
			dirs = append(dirs, dir)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
