package runs

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/postflight-dev/postflight/client"
)

// planDownload says under which names the files that match are stored. The paths may be hostile.
func planDownload(all []client.Artifact, patterns []string) []Downloaded {
	files := []Downloaded{}
	pods := map[string]bool{}
	for _, a := range all {
		if matchesAny(patterns, a.Path) {
			files = append(files, Downloaded{Path: a.Path, Pod: a.Pod, Bytes: a.Bytes, artifact: a})
			pods[a.Pod] = true
		}
	}
	for i := range files {
		f := &files[i]
		place := f.Path
		if len(pods) > 1 {
			place = f.Pod + "/" + f.Path
		}
		var err error
		if f.name, err = localName(place); err != nil {
			f.Error = err.Error()
		}
	}
	return files
}

// localName is a path as the system writes it, if it stays below the folder and names a file on this system.
func localName(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, isControl) || !utf8.ValidString(name) {
		return "", fmt.Errorf("its path is not that of a file below a folder")
	}
	local, err := filepath.Localize(name) // refuses what Windows reserves, there
	if err != nil {
		return "", fmt.Errorf("this system cannot have a file of that name")
	}
	return local, nil
}

func isControl(r rune) bool { return r < ' ' || r == '\x7f' }

func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("the pattern %q is not valid: * stands for any text, ** for any folders, [a-z] and {a,b} for a choice", pattern)
		}
	}
	return nil
}

// matchesAny reports whether a pattern matches a path, its name, or a folder of it.
func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		anywhere := !strings.Contains(pattern, "/") && doublestar.MatchUnvalidated(pattern, path.Base(name))
		if anywhere || doublestar.MatchUnvalidated(pattern, name) || doublestar.MatchUnvalidated(pattern+"/**", name) {
			return true
		}
	}
	return len(patterns) == 0
}
