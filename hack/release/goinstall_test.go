package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const modulePath = "github.com/postflight-dev/postflight"

// TestGoInstall: `go install` works with what is committed, from a module proxy. It refuses a go.mod that replaces
// modules, and a proxy refuses some names of files.
func TestGoInstall(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := git(t.Context(), root, "rev-parse", "HEAD"); err != nil {
		t.Skipf("SKIPPED, NOT PASSED: this is no clone: %v", err)
	}
	proxy, bin := t.TempDir(), t.TempDir()
	writeProxy(t, root, proxy)
	commands, installed := "/cmd/collect", []string{"collect"} // the others take minutes
	if *full {
		commands, installed = "/cmd/...", []string{"collect", "manager", "postflight"}
	}
	cmd := exec.CommandContext(t.Context(), "go", "install", modulePath+commands+"@"+testVersion)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOFLAGS=-trimpath -modcacherw", "GOWORK=off", "GOSUMDB=off",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")+","+goEnv(t, "GOPROXY"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range installed {
		if info, err := buildinfo.ReadFile(filepath.Join(bin, name)); err != nil || info.Main.Version != testVersion {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// writeProxy writes what a module proxy serves for the commit that is checked out.
func writeProxy(t *testing.T, root, proxy string) {
	t.Helper()
	folder := filepath.Join(proxy, modulePath, "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(folder, testVersion+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	clone := cloneOf(t, root)
	if err := zip.CreateFromVCS(archive, module.Version{Path: modulePath, Version: testVersion}, clone, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	mod, err := git(t.Context(), root, "show", "HEAD:go.mod")
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": testVersion, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"list": testVersion, testVersion + ".mod": mod, testVersion + ".info": string(info)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
