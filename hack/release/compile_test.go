package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnvironment: settings of `go env -w` do not change what is built, but may say where modules come from.
func TestEnvironment(t *testing.T) {
	file, cache := filepath.Join(t.TempDir(), "env"), t.TempDir()
	written := "GOAMD64=v3\nGOEXPERIMENT=fieldtrack\nGOFLAGS=-tags=theirs\nGOFIPS140=latest\n" +
		"GOPROXY=https://goproxy.example.com\nGOMODCACHE=" + cache + "\n"
	if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", file)
	for _, name := range []string{"GOAMD64", "GOEXPERIMENT", "GOFLAGS", "GOFIPS140", "GOPROXY", "GOMODCACHE"} {
		t.Setenv(name, "") // counts as missing
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	variables, err := release{Root: root, FIPS140: "off"}.environment(t.Context(), platform{"linux", "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"GOAMD64": "v1", "GOEXPERIMENT": "", "GOFLAGS": "", "GOFIPS140": "off", "GOPROXY": "https://goproxy.example.com", "GOMODCACHE": cache,
	}
	cmd := exec.CommandContext(t.Context(), "go", "env", "-json", "GOAMD64", "GOEXPERIMENT", "GOFLAGS", "GOFIPS140", "GOPROXY", "GOMODCACHE")
	cmd.Env, cmd.Dir = variables, root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the build sees (-want +got):\n%s", diff)
	}
}

// TestFIPS: a program of the variant has the frozen module, and starts in FIPS mode.
func TestFIPS(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	r := release{Root: root, Version: "v1.2.3", FIPS140: "v1.0.0"}
	p := platform{runtime.GOOS, runtime.GOARCH}
	if err := r.compile(t.Context(), work, p, []string{"collect"}); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(filepath.Join(work, p.String(), "collect"))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if !strings.HasPrefix(settings["GOFIPS140"], "v1.0.0") || !strings.Contains(settings["DefaultGODEBUG"], "fips140=on") {
		t.Errorf("built with GOFIPS140=%s, DefaultGODEBUG=%s", settings["GOFIPS140"], settings["DefaultGODEBUG"])
	}
}
