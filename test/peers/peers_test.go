package peers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

func path(t testing.TB, names ...string) string {
	t.Helper()
	root, err := apiserver.Root()
	must(t, err)
	return filepath.Join(append([]string{root}, names...)...)
}

func read(t testing.TB, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(path(t, names...))
	must(t, err)
	return string(text)
}

// write writes a file of a test, and returns its path.
func write(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	must(t, os.WriteFile(file, content, 0o600))
	return file
}

// peer is a program that hack/peers.sh has built; without it, the test is skipped, but not in CI.
func peer(t testing.TB, name string) string {
	t.Helper()
	binary := path(t, "bin", "peers", name)
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: build it by `hack/peers.sh %s`: %v", name, err)
	}
	return binary
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
