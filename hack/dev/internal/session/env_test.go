package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

func TestShellKeepsEveryValue(t *testing.T) {
	want := variables{
		{"PLAIN", "http://127.0.0.1:8780"},
		{"EMPTY", ""},
		{"HOSTILE", `a 'b' "c" $(touch oops) ` + "`d` \\ $HOME\nline two"},
	}
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, want.shell("a comment"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range want {
		out, err := exec.Command("sh", "-c", `. "$1" && printenv "$2"`, "sh", file, one.name).Output()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != one.value {
			t.Errorf("%s: got %q, %v; want %q", one.name, got, err, one.value)
		}
	}
}

// What a session writes for others to source; other tools and the documentation name these.
func TestUserVariables(t *testing.T) {
	s := &Session{
		layout:  layout.Layout{Root: "/src", Dir: "/src/.dev"},
		options: Options{Node: true},
		plan:    layout.Plan{PortBase: 8780, Subnet: 90},
		secrets: Secrets{APIKey: "pf_key"},
	}
	got := map[string]string{}
	for _, one := range s.userVariables() {
		got[one.name] = one.value
	}
	for name, want := range map[string]string{
		"KUBECONFIG":             "/src/.dev/kubeconfig",
		"POSTFLIGHT_URL":         "http://127.0.0.1:8780",
		"POSTFLIGHT_UI_URL":      "http://127.0.0.1:8780",
		"POSTFLIGHT_API_KEY":     "pf_key",
		"POSTFLIGHT_METRICS_URL": "http://127.0.0.1:8781/metrics",
		"S3_ENDPOINT":            "http://127.0.0.1:8783",
		"S3_BUCKET":              "postflight",
		"DEMO_URL":               "http://10.90.0.1:8787",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if team, set := got["POSTFLIGHT_TEAM"]; set {
		t.Errorf("keys of other Teams than %s are refused in this shell", team)
	}
	s.options.Node = false
	for _, one := range s.managerVariables() {
		if one.name == "POSTFLIGHT_STORE_ENDPOINT" && one.value != "http://127.0.0.1:8783" {
			t.Errorf("without a node there is no bridge; the store is at %s", one.value)
		}
	}
}

// TestCommandsOnPath: a shell that sources the file calls the programs of this checkout, however often it is sourced.
func TestCommandsOnPath(t *testing.T) {
	s := &Session{layout: layout.Layout{Root: filepath.Join(t.TempDir(), "it's"), Dir: t.TempDir()}}
	program := s.layout.Bin("postflight")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho of this checkout\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // at each start of the cluster
		if err := s.writeEnv(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"postflight", "kubectl-postflight"} {
		out, err := exec.Command("sh", "-c", `. "$1"; first=$PATH; . "$1"; [ "$first" = "$PATH" ] && "$2"`, "sh", s.layout.Path("env"),
			name).CombinedOutput()
		if err != nil || string(out) != "of this checkout\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}
