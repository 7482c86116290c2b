package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets tests run the program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("POSTFLIGHT_TEST_AS_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestMisuse(t *testing.T) {
	for name, tc := range map[string]struct {
		args, says string
		code       int
	}{
		"no command":                    {"", "Usage: collect", 2},
		"help":                          {"--help", "Usage: collect", 0},
		"mistyped command":              {"fetsh", `Error: there is no command "fetsh"`, 2},
		"help of a command":             {"fetch -h", "FETCH_DIRECTORY", 0},
		"fetch has codes of its own":    {"fetch --patence 1s", "flag provided but not defined", 2},
		"fetch has no arguments":        {"fetch it", `no arguments, but got ["it"]`, 2},
		"fetch without a list of files": {"fetch", "$FETCH_DIRECTORY must be an absolute path", 2},
		"results has no arguments":      {"results it", `no arguments, but got ["it"]`, 2},
		"ready has no arguments":        {"ready it", `no arguments, but got ["it"]`, 2},
		"ready without a URL":           {"ready", `$URL: "" is no absolute http or https URL`, 2},
		"reach needs addresses":         {"reach", "needs 1 to 8 URLs, but got 0", 2},
		"results without a manager":     {"results", "$POSTFLIGHT_COLLECT_URL must be set", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := run(strings.Fields(tc.args), &stderr); code != tc.code || !strings.Contains(stderr.String(), tc.says) {
				t.Errorf("collect %s: exit code %d, want %d, and %q in\n%s", tc.args, code, tc.code, tc.says, &stderr)
			}
		})
	}
}

func TestTerminationMessage(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(log, []byte("an earlier message"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	run([]string{"fetch", "--termination-log", log}, &stderr)
	if got, err := os.ReadFile(log); err != nil || string(got) != "$FETCH_DIRECTORY must be an absolute path." {
		t.Errorf("%q, %v", got, err)
	}
	none := filepath.Join(dir, "none")
	run([]string{"fetch", "--termination-log", none}, &stderr)
	if _, err := os.Stat(none); err == nil {
		t.Error("outside of a pod, a file was created")
	}
}
