package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReady runs the command as the container does.
func TestReady(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/base/version?full=1" {
			t.Errorf("it asks for %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"commit": "9c1d2e3"}`)
	}))
	defer server.Close()
	t.Setenv("URL", server.URL+"/base/")
	for name, tc := range map[string]struct {
		sha     string
		timeout string
		code    int
		says    string
	}{
		"the right version": {"9c1d2e3f" + strings.Repeat("0", 32), "1h", 0, ""},
		"another version": {"b776998a" + strings.Repeat("0", 32),
			"1ns", 3, server.URL + `/base/version?full=1 said "9c1d2e3" instead of b776998a, for 0s.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_SHA", tc.sha)
			message := filepath.Join(t.TempDir(), "message")
			if err := os.WriteFile(message, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			code := run([]string{
				"ready", "--path=/version?full=1", "--json=/commit", "--successes=2", "--interval=1ms", "--timeout=" +
					tc.timeout, "--termination-log", message,
			}, &stderr)
			said, err := os.ReadFile(message)
			if code != tc.code || err != nil || string(said) != tc.says {
				t.Errorf("exit code %d, want %d; the message %q, want %q (%v)\n%s", code, tc.code, said, tc.says, err, &stderr)
			}
		})
	}
}
