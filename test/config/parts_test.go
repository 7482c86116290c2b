package config

import (
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
		if !slices.ContainsFunc(table, func(line coverage) bool { return strings.HasPrefix(dir+"/", line.path) }) {
			t.Errorf("the gate runs no test of %s, and hack/parts.txt names no part that does", dir)
		}
	}
}

var (
	testFunc = regexp.MustCompile(`(?m)^func Test[A-Z]\w*\(t \*testing\.T\) \{\n(.*)`)
	onlyAll  = regexp.MustCompile(`^\ttier\.All\(t, `)
)

// leftOut are the modules of their own, which the gate does not run, and the packages all of whose tests it skips.
func leftOut(t *testing.T, c *code) (dirs []string) {
	t.Helper()
	runs := map[string]bool{} // by package: does the gate run a test of it?
	for file := range c.files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, first := range testFunc.FindAllStringSubmatch(c.text(t, file), -1) {
			runs[path.Dir(file)] = runs[path.Dir(file)] || !onlyAll.MatchString(first[1])
		}
	}
	for dir, run := range runs {
		if !run {
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
