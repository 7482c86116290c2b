package source

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// conflicted returns the first line that a merge has left in a file, or "". A line of "=" alone is also a heading in some formats.
func conflicted(content []byte) string {
	for line := range bytes.Lines(content) {
		for _, mark := range []string{"<", ">", "|"} {
			if bytes.HasPrefix(line, []byte(strings.Repeat(mark, 7)+" ")) {
				return strings.TrimSpace(string(line))
			}
		}
	}
	return ""
}

// TestNoConflicts: no file of the repository has the marks of a merge that was not finished.
func TestNoConflicts(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(made, d.Name()) {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		files++
		content, err := os.ReadFile(path)
		if line := conflicted(content); line != "" {
			t.Errorf("%s has %q: finish the merge", path, line)
		}
		return err
	})
	if err != nil || files < 500 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// TestConflictsAreFound tries the test above on what merges leave.
func TestConflictsAreFound(t *testing.T) {
	for _, mark := range []string{"<", ">", "|"} {
		if text := "a\n" + strings.Repeat(mark, 7) + " main\nb\n"; conflicted([]byte(text)) == "" {
			t.Errorf("not found: %q", text)
		}
	}
	if text := "a " + strings.Repeat("<", 7) + " b\n=======\n"; conflicted([]byte(text)) != "" {
		t.Errorf("found: %q", text)
	}
}
