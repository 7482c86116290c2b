package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
)

func TestReach(t *testing.T) {
	method := ""
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method = r.Method
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer plain.Close()
	private := httptest.NewTLSServer(http.NotFoundHandler())
	defer private.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	message := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	code := run([]string{"reach", "--termination-log", message, plain.URL, private.URL, gone.URL, "http://nowhere.invalid/x"}, &stderr)
	text, err := os.ReadFile(message)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, &stderr)
	}
	r, err := reach.Parse(string(text))
	if err != nil || len(r) != 4 {
		t.Fatalf("%v: %s", err, text)
	}
	if r[0].Status != http.StatusUnauthorized || method != http.MethodHead || len(r[0].Addresses) != 1 {
		t.Errorf("a server that answers %s: %+v", method, r[0])
	}
	if off := (r[0].Ahead - time.Hour).Abs(); off > time.Minute {
		t.Errorf("a clock that is an hour ahead: %s", r[0].Ahead)
	}
	if !r[1].Untrusted || r[1].Status != 0 {
		t.Errorf("a server with a certificate of nobody: %+v", r[1])
	}
	if r[2].Status != 0 || len(r[2].Addresses) == 0 || !strings.Contains(r[2].Problem, "refused") {
		t.Errorf("an address without a server: %+v", r[2])
	}
	if len(r[3].Addresses) != 0 || r[3].Problem == "" {
		t.Errorf("a name without an address: %+v", r[3])
	}
}
