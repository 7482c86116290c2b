package config

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
	for line := range strings.Lines(c.text(t, "hack/parts.txt")) {
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
	cases := regexp.MustCompile(`(?m)^    ([a-z]+)\)`).FindAllStringSubmatch(c.text(t, "hack/test-all.sh"), -1)
	if len(cases) < 5 {
		t.Fatalf("hack/test-all.sh has only %d parts", len(cases))
	}
	for _, line := range table {
		if _, err := os.Stat(filepath.Join(c.root, line.path)); err != nil {
			t.Errorf("hack/parts.txt: %v", err)
		}
		if !slices.ContainsFunc(cases, func(known []string) bool { return known[1] == line.part }) {
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

// testFunc is a test and its first line.
var testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\) \{\n(.*)`)

// inGate are the tests of each package of the main module: does the gate run them?
func inGate(t *testing.T, c *code) map[string]map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	for file := range c.files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		dir := path.Dir(file)
		for _, test := range testFunc.FindAllStringSubmatch(c.text(t, file), -1) {
			if packages[dir] == nil {
				packages[dir] = map[string]bool{}
			}
			packages[dir][test[1]] = !strings.HasPrefix(test[2], "\ttier.All(t, ")
		}
	}
	return packages
}

// TestPromises: the gate runs the tests that docs/development.md names as proofs.
func TestPromises(t *testing.T) {
	c := readCode(t)
	packages := inGate(t, c)
	_, table, _ := strings.Cut(c.text(t, "docs/development.md"), "\n## What proves what\n")
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
	for dir, tests := range inGate(t, c) {
		if !slices.Contains(slices.Collect(maps.Values(tests)), true) {
			dirs = append(dirs, dir)
		}
	}
	err := filepath.WalkDir(c.root, func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(made, d.Name()):
			return filepath.SkipDir
		case d.Name() == "go.mod" && filepath.Dir(file) != c.root:
			dir, err := filepath.Rel(c.root, filepath.Dir(file))
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
