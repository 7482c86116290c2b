package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAttempts: reports of attempts are read together only if the last one counts, and only reports of one program.
func TestAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		last  bool
		paths []string
		want  [][]string
	}{
		"all count": {false, []string{"Retries/a/1/r.xml", "r.xml"}, [][]string{{"Retries/a/1/r.xml"}, {"r.xml"}}},
		"the last counts": {true, []string{"Retries/a/10/r.xml", "Retries/a/2/r.xml", "log.txt", "other.xml", "r.xml"},
			[][]string{{"Retries/a/2/r.xml", "Retries/a/10/r.xml", "r.xml"}, {"other.xml"}}},
		"two programs": {true, []string{"Retries/a/1/r.xml", "Retries/b/1/r.xml", "r.xml"},
			[][]string{{"Retries/a/1/r.xml"}, {"Retries/b/1/r.xml"}, {"r.xml"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var files []file
			for _, path := range tc.paths {
				files = append(files, file{path: path})
			}
			var got [][]string
			for _, same := range attempts(files, tc.last) {
				var paths []string
				for _, f := range same {
					paths = append(paths, f.path)
				}
				got = append(got, paths)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
