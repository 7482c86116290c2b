package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// together is how many tests run at the same time unless -parallel says otherwise: they mostly wait for pods.
const together = "8"

// Variables that steer the tests; README.md says what each is for.
const (
	envKeep    = "POSTFLIGHT_E2E_KEEP"
	envFull    = "POSTFLIGHT_E2E_FULL"
	envDir     = "POSTFLIGHT_E2E_DIR"
	envManager = "POSTFLIGHT_E2E_MANAGER"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := runTogether(); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := stopCluster(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the cluster does not stop:", err)
		code = 1
	}
	os.Exit(code)
}

func runTogether() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", together)
}

// full reports whether to run what takes minutes more than `make test-all` should.
func full() bool { return os.Getenv(envFull) == "1" }

func skipUnlessFull(t testing.TB, why string) {
	t.Helper()
	if !full() {
		t.Skipf("SKIPPED: only %s=1 runs this, because %s", envFull, why)
	}
}

func inCI() bool { return os.Getenv("CI") == "true" }

// cannotRunPods is why no pod can run on this machine, or empty.
func cannotRunPods() string {
	switch {
	case runtime.GOOS != "linux":
		return "pods need Linux, and this is " + runtime.GOOS
	case os.Geteuid() != 0:
		return "pods need root (containerd, cgroups and a network bridge), and this is user " + fmt.Sprint(os.Geteuid())
	default:
		return ""
	}
}

// skipWithoutPods skips a test that cannot run here, with a message that it has not passed.
func skipWithoutPods(t testing.TB) {
	t.Helper()
	switch reason := cannotRunPods(); {
	case reason != "" && inCI():
		t.Fatal(reason)
	case reason != "":
		skipLoudly(t, reason)
	}
}

func skipLoudly(t testing.TB, reason string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** %s was NOT run: %s.\n\n", t.Name(), reason)
	t.Skipf("SKIPPED: %s", reason)
}

// figure prints a line of measurements, and writes it to a file beside the cluster's folder, because test runners hide
// the output of tests that pass.
func figure(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format+"\n", args...)
	fmt.Print(line)
	file, err := os.OpenFile(clusterDir()+".figures", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	_, _ = file.WriteString(line)
}

// root is the project's folder, seen from this package's, which tests run in. Where the code was
// compiled does not tell: -trimpath takes that out.
func root() string {
	folder, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return folder
}
