package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPIKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api-key")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		env  map[string]string
		want string
		says string
	}{
		"variable":  {env: map[string]string{"POSTFLIGHT_API_KEY": "from-variable"}, want: "from-variable"},
		"file":      {env: map[string]string{"POSTFLIGHT_API_KEY_FILE": file}, want: "from-file"},
		"both":      {env: map[string]string{"POSTFLIGHT_API_KEY": "from-variable", "POSTFLIGHT_API_KEY_FILE": file}, want: "from-variable"},
		"no file":   {env: map[string]string{"POSTFLIGHT_API_KEY_FILE": file + "s"}, says: "POSTFLIGHT_API_KEY_FILE"},
		"neither":   {says: "there is no API key"},
		"cut short": {env: map[string]string{"POSTFLIGHT_API_KEY": "pf_" + strings.Repeat("a", 38)}, says: "mistyped or cut"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := apiKey(func(name string) string { return tc.env[name] })
			if got != tc.want || (err != nil) != (tc.says != "") || (err != nil && !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("%q, %v; want %q, %q", got, err, tc.want, tc.says)
			}
		})
	}
}
