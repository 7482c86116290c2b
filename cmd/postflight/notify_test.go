package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Integrations rely on the names of these variables, which replace flags.
func TestNotifyByVariables(t *testing.T) {
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results":[],"explanations":[]}`)
	}))
	defer server.Close()
	for name, value := range map[string]string{"POSTFLIGHT_URL": server.URL, "POSTFLIGHT_API_KEY": "k", "POSTFLIGHT_BRANCH": "$(touch pwned)",
		"POSTFLIGHT_SHA": "cafe", "POSTFLIGHT_DEPLOYMENT_TYPE": "staging", "POSTFLIGHT_DEPLOYMENT_URL": "https://staging.example.com"} {
		t.Setenv(name, value)
	}
	want := map[string]any{"branch": "$(touch pwned)", "sha": "cafe", "deployment_type": "staging", "deployment_url": "https://staging.example.com"}
	for _, args := range [][]string{{"notify", "--no-detect", "--allow-no-match", "--branch="}, {"explain", "--no-detect"}} {
		if code := execute(t.Context(), args); code != 0 {
			t.Errorf("%v ended with %d", args, code)
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%v\n%s", args, diff)
		}
	}
}
