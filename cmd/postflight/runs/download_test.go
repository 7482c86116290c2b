package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/clitest"
)

// tree returns the files below a folder, with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRunsArtifactsDownload(t *testing.T) {
	files := []clitest.File{file("p", "report/index.html", "<html>"), file("p", "a b+ü%.png", "picture"), file("p", "empty", "")}
	cases := map[string]struct {
		files  []clitest.File
		there  map[string]string // before
		args   string
		code   int
		want   map[string]string
		says   string
		folder string // default: out
	}{
		"all": {args: "--dir out", want: map[string]string{"report/index.html": "<html>", "a b+ü%.png": "picture", "empty": ""},
			says: "Downloaded 3 of 3 files, 13 B, to out"},
		"the run's name": {args: "report", folder: "smoke-1", want: map[string]string{"report/index.html": "<html>"}},
		"by pattern":     {args: "--dir out *.html", want: map[string]string{"report/index.html": "<html>"}},
		"none matches": {args: "--dir out *.zip", code: 1,
			says: "no file of the run smoke-1 matches. \"postflight runs artifacts list smoke-1\" shows its 3 files"},
		"two pods": {files: []clitest.File{file("p", "a", "1"), file("q", "a", "2")}, args: "--dir out",
			want: map[string]string{"p/a": "1", "q/a": "2"}},
		"one of two pods": {files: []clitest.File{file("p", "a", "1"), file("q", "a", "2")}, args: "--dir out --pod q",
			want: map[string]string{"a": "2"}},
		"a file is there": {there: map[string]string{"empty": "mine"}, args: "--dir out empty *.html", code: 1,
			want: map[string]string{"empty": "mine", "report/index.html": "<html>"}, says: "out/empty exists. --force replaces it"},
		"a file is replaced": {there: map[string]string{"empty": "mine"}, args: "--dir out --force empty", want: map[string]string{"empty": ""}},
		"a hostile path": {files: []clitest.File{file("p", "../../x", "1"), file("p", "b", "2")}, args: "--dir out", code: 1,
			want: map[string]string{"b": "2"},
			says: "../../x: its path is not that of a file below a folder"},
		"a file and a folder of one name": {files: []clitest.File{file("p", "a", "1"), file("p", "a/b", "2")}, args: "--dir out", code: 1,
			says: "1 of 2 files could not be downloaded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			out := filepath.Join(dir, "out")
			if tc.folder != "" {
				out = filepath.Join(dir, tc.folder)
			}
			for path, content := range tc.there {
				if err := os.MkdirAll(out, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(out, path), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults)}, Files: files}
			if tc.files != nil {
				api.Files = tc.files
			}
			api.Start(t)
			program.Expect(t, tc.code, nil, []string{tc.says}, strings.Fields("runs artifacts download smoke-1 "+tc.args)...)
			if tc.want != nil {
				if diff := cmp.Diff(tc.want, tree(t, out)); diff != "" {
					t.Error(diff)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 1 {
				t.Errorf("there are other files: %v", entries)
			}
		})
	}
}

func TestRunsArtifactsDownloadJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	(&clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults)},
		Files: []clitest.File{file("p", "a", "1"), file("p", "../b", "2")}}).Start(t)
	out, _, code := program.Invoke(t, strings.Fields("runs artifacts download smoke-1 -o json")...)
	var got []Downloaded
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 {
		t.Fatalf("%v, exit code %d: %s", err, code, out)
	}
	if len(got) != 2 || got[0].File != "smoke-1/a" || got[0].Bytes != 1 || got[1].File != "" || got[1].Error == "" {
		t.Errorf("%+v", got)
	}
}

// Hundreds of files come in parallel, each as a whole.
func TestRunsArtifactsDownloadMany(t *testing.T) {
	dir := t.TempDir()
	api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.WithResults)}}
	want := map[string]string{}
	for i := range 500 {
		f := file("p", filepath.Join("d"+string(rune('a'+i%7)), strings.Repeat("x", i%40+1)+"-"+string(rune('a'+i%26))+strings.Repeat("y",
			i/40)), strings.Repeat("z", i*10))
		if _, ok := want[f.Path]; !ok {
			api.Files, want[f.Path] = append(api.Files, f), f.Content
		}
	}
	api.Start(t)
	program.Expect(t, 0, nil, nil, "runs", "artifacts", "download", "smoke-1", "-d", dir)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

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
		"", ".", "..", "../x", "a/../../x", "a/..", "/etc/passwd", "//x", "a//b", "a/./b", "./a", "a/", "a\nb", "a\x1b[2Jb", "a\x00b", "a\x7f",
		"a\xff",
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
