package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/client"
)

func TestPlanDownload(t *testing.T) {
	one := []client.Artifact{{Path: "report/index.html", Pod: "p"}, {Path: "a.png", Pod: "p"}, {Path: "report/data/b.png", Pod: "p"}}
	two := []client.Artifact{{Path: "a.png", Pod: "p"}, {Path: "a.png", Pod: "q"}}
	cases := map[string]struct {
		files    []client.Artifact
		patterns string
		want     string // names
	}{
		"all of one pod":       {files: one, want: "report/index.html a.png report/data/b.png"},
		"all of two pods":      {files: two, want: "p/a.png q/a.png"},
		"by extension":         {files: one, patterns: "*.png", want: "a.png report/data/b.png"},
		"by folder":            {files: one, patterns: "report", want: "report/index.html report/data/b.png"},
		"by folder, completed": {files: one, patterns: "./report/", want: "report/index.html report/data/b.png"},
		"by path":              {files: one, patterns: "report/*.html", want: "report/index.html"},
		"by two patterns":      {files: one, patterns: "a.png report/**/*.png", want: "a.png report/data/b.png"},
		"by a choice":          {files: one, patterns: "*.{html,jpg}", want: "report/index.html"},
		"none":                 {files: one, patterns: "*.zip"},
		"a name in capitals":   {files: one, patterns: "A.PNG"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, f := range planDownload(tc.files, strings.Fields(tc.patterns)) {
				names = append(names, f.name)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), names); diff != "" && len(names)+len(tc.want) > 0 {
				t.Error(diff)
			}
		})
	}
}

// TestHostilePaths: what a server or a test names cannot lead out of the folder, nor to something other than a file.
func TestHostilePaths(t *testing.T) {
	for _, path := range []string{
		"", ".", "..", "../x", "a/../../x", "a/..", "/etc/passwd", "//x", "a//b", "a/./b", "./a", "a/", "a\nb", "a\x1b[2Jb", "a\x00b", "a\x7f", "a\xff",
	} {
		files := planDownload([]client.Artifact{{Path: path, Pod: "p"}}, nil)
		if len(files) != 1 || files[0].Error == "" || files[0].name != "" {
			t.Errorf("%q becomes %+v", path, files)
		}
	}
	for _, pod := range []string{"..", "a/../..", "/", ""} {
		for _, f := range planDownload([]client.Artifact{{Path: "a", Pod: pod}, {Path: "b", Pod: "p"}}, nil)[:1] {
			if f.Error == "" {
				t.Errorf("the pod %q becomes %q", pod, f.name)
			}
		}
	}
	for _, path := range []string{"a b/ü 日本.png", "-rf", "...", "a..b", ".hidden", "a:b", "NUL"} { // files like others, on this system
		if files := planDownload([]client.Artifact{{Path: path, Pod: "p"}}, nil); files[0].name != path {
			t.Errorf("%q becomes %+v", path, files)
		}
	}
}
