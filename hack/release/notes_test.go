package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOutput: a mistyped folder keeps its files.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (release{Output: dir}).clearOutput(); err == nil {
		t.Error("a folder with other files is cleared")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, imageFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (release{Output: dir}).clearOutput(); err != nil {
		t.Errorf("a release is not cleared: %v", err)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("files of the release before are kept")
	}
}

func TestChanges(t *testing.T) {
	const changelog = "# Changes\n\n## Unreleased\n\n- new\n\n" +
		"## v1.1.0 (2026-01-02)\n\n- [newer](docs/a.md#b)\n\n### Fixed\n\n- one\n\n## v1.0.0\n\n- first\n"
	for name, c := range map[string]struct{ version, changelog, want string }{
		"a version with a date":                      {"v1.1.0", changelog, "- [newer](docs/a.md#b)\n\n### Fixed\n\n- one"},
		"the last one":                               {"v1.0.0", changelog, "- first"},
		"a candidate has what is not released":       {"v1.2.0-rc.1", changelog, "- new"},
		"a version that begins like another":         {"v1.0", changelog, "- new"},
		"nothing was written about it":               {"v1.0.0", "# Changes\n", ""},
		"an empty section is as good as no section":  {"v1.0.0", "## v1.0.0\n\n## v0.9.0\n\n- old\n", ""},
		"an empty section falls back to the changes": {"v1.0.0", "## Unreleased\n\n- new\n\n## v1.0.0\n", "- new"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := changesOf(c.changelog, c.version)
			if got != c.want || (err != nil) != (c.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAbsoluteLinks(t *testing.T) {
	r := release{Version: "v1.2.3"}
	const there = repository + "/blob/v1.2.3/"
	for text, want := range map[string]string{
		"[a](docs/a.md#b), [c](LICENSE)": "[a](" + there + "docs/a.md#b), [c](" + there + "LICENSE)",
		"[a](https://example.com/x#y)":   "[a](https://example.com/x#y)",
	} {
		if got := r.absoluteLinks(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false, "v1.2.3+build": false, "latest": false, "": false,
	} {
		r := release{Version: version, Architectures: imageArchitectures, Platforms: cliPlatforms}
		if err := r.check(); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}
