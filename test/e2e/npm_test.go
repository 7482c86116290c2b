package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// npmFiles are what the published client needs, copied to a folder that Git ignores.
var npmFiles = []string{"package.json", "package-lock.json", "notify.mjs", "poll.mjs", "upload.mjs"}

var npm struct {
	sync.Once
	out []byte
	err error
}

// npmClient notifies with the published client.
func npmClient(t *testing.T) func(config map[string]any) map[string]any {
	t.Helper()
	return npmScript(t, "notify.mjs")
}

// npmUpload uploads a file with it.
func npmUpload(t *testing.T) func(config map[string]any) map[string]any {
	t.Helper()
	return npmScript(t, "upload.mjs")
}

// npmScript installs the published client, once, and skips the test where that is not possible.
func npmScript(t *testing.T, script string) func(config map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if inCI() {
				t.Fatalf("%s is missing, and CI has to run the published client", program)
			}
			skipLoudly(t, program+" is missing, so the published client cannot run")
		}
	}
	dir := filepath.Join(root(), ".test", "npm")
	npm.Do(func() { npm.out, npm.err = installClient(dir) })
	if npm.err != nil {
		t.Fatalf("npm ci: %v\n%s", npm.err, npm.out)
	}
	return func(config map[string]any) map[string]any {
		t.Helper()
		return runClient(t, dir, script, config)
	}
}

func installClient(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	changed := false
	for _, name := range npmFiles {
		want, err := os.ReadFile(filepath.Join(root(), "test", "e2e", "npm", name))
		if err != nil {
			return nil, err
		}
		have, _ := os.ReadFile(filepath.Join(dir, name))
		changed = changed || !bytes.Equal(want, have)
		if err := os.WriteFile(filepath.Join(dir, name), want, 0o644); err != nil {
			return nil, err
		}
	}
	// npm writes this file last, so that an installation that was cut short is repeated.
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil && !changed {
		return nil, nil
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts")
	install.Dir = dir
	return install.CombinedOutput()
}

// runClient runs the published client in a process of its own, as in CI.
func runClient(t *testing.T, dir, script string, config map[string]any) map[string]any {
	t.Helper()
	arg, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	node := exec.Command("node", script, string(arg))
	node.Dir, node.Stderr = dir, &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("the published client failed: %v\n%s", err, stderr.Bytes())
	}
	status := map[string]any{}
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("the published client printed %q: %v", out, err)
	}
	return status
}
