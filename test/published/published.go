// Package published runs the published client of the hosted service, in a process of its own, as CI jobs do. Its scripts are in
// test/e2e/npm.
package published

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// files are what the client needs, copied to a folder that Git ignores.
var files = []string{"package.json", "package-lock.json", "notify.mjs", "poll.mjs", "upload.mjs"}

var npm struct {
	sync.Once
	out []byte
	err error
}

// Script installs the client, once, and skips the test where that is not possible. Each test binary has a folder of .test, because
// they run at once.
func Script(t testing.TB, folder, script string) func(config map[string]any) map[string]any {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program)
		}
	}
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".test", folder)
	npm.Do(func() { npm.out, npm.err = install(root, dir) })
	if npm.err != nil {
		t.Fatalf("npm ci: %v\n%s", npm.err, npm.out)
	}
	return func(config map[string]any) map[string]any {
		t.Helper()
		return run(t, dir, script, config)
	}
}

func missing(t testing.TB, program string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI has to run the published client", program)
	}
	fmt.Fprintf(os.Stderr, "\n*** %s was NOT run: %s is missing, so the published client cannot run.\n\n", t.Name(), program)
	t.Skipf("SKIPPED: %s is missing, so the published client cannot run", program)
}

func install(root, dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	changed := false
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(root, "test", "e2e", "npm", name))
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
	ci := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts")
	ci.Dir = dir
	return ci.CombinedOutput()
}

func run(t testing.TB, dir, script string, config map[string]any) map[string]any {
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
