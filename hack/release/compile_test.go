package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnvironment: what somebody set by `go env -w` does not change what is built, but may say where modules come from.
func TestEnvironment(t *testing.T) {
	file, cache := filepath.Join(t.TempDir(), "env"), t.TempDir()
	written := "GOAMD64=v3\nGOEXPERIMENT=fieldtrack\nGOFLAGS=-tags=theirs\nGOFIPS140=latest\nGOPROXY=https://goproxy.example.com\nGOMODCACHE=" + cache + "\n"
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
	variables, err := environment(t.Context(), root, platform{"linux", "amd64"})
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
