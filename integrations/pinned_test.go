package integrations

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// mutable finds what names another version tomorrow: the newest one, a branch, or an action by a tag, which can be moved.
var mutable = regexp.MustCompile(`(?m)@(latest|main|master|HEAD)\b|:latest\b|default: ["']?(latest|main|master)\b|^\s*ref: (main|master)\b|uses: [^\s./][^\s@]*@v[0-9.]+\s*$`)

// TestMutable tries the expression of the test below.
func TestMutable(t *testing.T) {
	for text, want := range map[string]bool{
		"go install example.com/x@latest": true, "    default: latest": true, "version: {default: latest, description: x}": true,
		"uses: actions/checkout@v4": true, "  uses: a/b/c@main": true, "image: alpine:latest": true, "      ref: main": true,
		"uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803 # v6.1.0": false, "uses: ./integrations/github": false,
		"uses: a/b/c@COMMIT": false, "runs-on: ubuntu-latest": false, "branches: [main]": false, "image: golang:1.26": false,
	} {
		if got := mutable.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestPinned: a pipeline that takes over a recipe must not change its command line by itself.
func TestPinned(t *testing.T) {
	files := []string{"../docs/ci.md", "../docs/gitops.md", "../docs/first-team.md", "../docs/onboarding.md", "../docs/flagger.md", "../docs/kargo.md"}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) != ".go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`(?m)^\s*(?:- )?image: ["']?([^\s"'{}$]+)|^FROM ([^\s$]+)$`)
	for _, path := range files {
		content := read(t, path)
		if found := mutable.Find(content); found != nil {
			t.Errorf("%s: %q is another version tomorrow", path, bytes.TrimSpace(found))
		}
		for _, m := range image.FindAllSubmatch(content, -1) {
			name := string(slices.Concat(m[1], m[2]))
			if !strings.Contains(filepath.Base(name), ":") && !strings.Contains(name, "@sha256:") {
				t.Errorf("%s: the image %s has no tag", path, name)
			}
		}
	}
}

// TestGitHubInstall runs install.sh with a go that only tells how it was called.
func TestGitHubInstall(t *testing.T) {
	const version = "9fceb02d0ae598e95dc970b74767f19372d61af8"
	cases := map[string]struct {
		modFile string // beside the folder integrations
		version string
		code    int
		args    string
	}{
		"the repository of the action": {
			modFile: "module github.com/postflight-dev/postflight\n\ngo 1.26.0\n",
			args:    "install -C ACTION/../.. -trimpath -buildvcs=false ./cmd/postflight",
		},
		"another version": {
			modFile: "module github.com/postflight-dev/postflight\n\ngo 1.26.0\n", version: version,
			args: "install github.com/postflight-dev/postflight/cmd/postflight@" + version,
		},
		"a copy in another module":              {modFile: "module example.com/shop\n", code: 3},
		"a copy without a module":               {code: 3},
		"a copy without a module, of a version": {version: version, args: "install github.com/postflight-dev/postflight/cmd/postflight@" + version},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			action := filepath.Join(dir, "integrations", "github")
			if err := os.MkdirAll(action, 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.modFile != "" {
				write(t, filepath.Join(dir, "go.mod"), tc.modFile, 0o644)
			}
			write(t, filepath.Join(dir, "go"), "#!/bin/sh\necho \"$@\" > \"$CALLED\"\n", 0o755)
			step := exec.Command("bash", "github/install.sh")
			step.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLED=" + dir + "/called", "GITHUB_ACTION_PATH=" + action,
				"RUNNER_TEMP=" + dir, "GITHUB_PATH=" + dir + "/path", "INPUT_VERSION=" + tc.version}
			out, _ := step.CombinedOutput()
			if got := step.ProcessState.ExitCode(); got != tc.code {
				t.Fatalf("exit code %d, want %d: %s", got, tc.code, out)
			}
			called, _ := os.ReadFile(dir + "/called")
			if got := strings.ReplaceAll(strings.TrimSpace(string(called)), action, "ACTION"); got != tc.args {
				t.Errorf("go %s, want %s", got, tc.args)
			}
			if tc.code == 0 && string(read(t, dir+"/path")) != dir+"/postflight-bin\n" {
				t.Error("later steps do not find the command line")
			}
		})
	}
	// What the action builds is where it looks for it.
	if !strings.HasPrefix(string(read(t, "../go.mod")), "module github.com/postflight-dev/postflight\n") || len(read(t, "../cmd/postflight/main.go")) == 0 {
		t.Error("the command line is not where the action builds it")
	}
}

// TestGitLabInstall runs the script of the job in an image without postflight.
func TestGitLabInstall(t *testing.T) {
	_, body, _ := bytes.Cut(read(t, "gitlab/template.yml"), []byte("\n---\n"))
	var jobs map[string]struct{ Script []string }
	if err := yaml.Unmarshal(body, &jobs); err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	for version, want := range map[string]struct {
		code int
		args string
	}{
		"":       {code: 3},
		"v1.2.3": {args: "install github.com/postflight-dev/postflight/cmd/postflight@v1.2.3\n"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go"), "#!/bin/sh\necho \"$@\" > \"$CALLED\"\n", 0o755)
		for _, job := range jobs {
			run := exec.Command("/bin/sh", "-e", "-c", job.Script[0])
			run.Env = []string{"PATH=" + dir, "CALLED=" + dir + "/called", "INPUT_VERSION=" + version}
			out, _ := run.CombinedOutput()
			called, _ := os.ReadFile(dir + "/called")
			if run.ProcessState.ExitCode() != want.code || string(called) != want.args {
				t.Errorf("version %q: exit code %d, go %q, want %+v: %s", version, run.ProcessState.ExitCode(), called, want, out)
			}
		}
	}
}
