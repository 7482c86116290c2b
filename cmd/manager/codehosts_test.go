package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestCodeHostOptions(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, token, empty := file("key.pem", "s3cret"), file("token", "s3cret\n"), file("empty", "\n")
	for name, tc := range map[string]struct {
		flags []string
		want  string // in the error; empty: none
	}{
		"none": {nil, ""},
		"an enterprise server": {[]string{"--github-url=https://ghe.example.com/api/v3", "--gitlab-url=https://gitlab.example.com/",
			"--cluster-name=eu-1"}, ""},
		"plain http":           {[]string{"--github-url=http://ghe.example.com/api/v3"}, "--github-url"},
		"not a URL":            {[]string{"--gitlab-url=gitlab.example.com"}, "--gitlab-url"},
		"a password":           {[]string{"--gitlab-url=https://u:s3cr@gitlab.example.com"}, "must have no user"},
		"an App":               {[]string{"--github-app-id=12", "--github-app-key-file=" + key}, ""},
		"an App without a key": {[]string{"--github-app-id=12"}, "set both, or neither"},
		"a key without an App": {[]string{"--github-app-key-file=" + key}, "set both, or neither"},
		"an App and a token": {[]string{"--github-app-id=12", "--github-app-key-file=" + key, "--github-token-file=" + token},
			"set one of them"},
		"tokens":                     {[]string{"--github-token-file=" + token, "--gitlab-token-file=" + token}, ""},
		"a file that does not exist": {[]string{"--gitlab-token-file=" + folder + "/none"}, "--gitlab-token-file"},
		"an empty file":              {[]string{"--github-token-file=" + empty}, "holds no token"},
		"networks":                   {[]string{"--webhook-allow-networks=10.20.0.0/16,fd12:3456::/48"}, ""},
		"not a network":              {[]string{"--webhook-allow-networks=10.20.0.1"}, "--webhook-allow-networks"},
		"an address in a network":    {[]string{"--webhook-allow-networks=10.20.0.1/16"}, "must be a network"},
		"a mapped network":           {[]string{"--webhook-allow-networks=::ffff:10.0.0.0/104"}, "must be a network"},
		"a name with a slash":        {[]string{"--cluster-name=eu/1"}, "--cluster-name"},
		"a long name":                {[]string{"--cluster-name=" + strings.Repeat("a", 64)}, "--cluster-name"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand()
			o := &options{}
			cmd.ResetFlags()
			o.addFlags(cmd.Flags())
			if err := cmd.Flags().Parse(tc.flags); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v reveals a secret", err)
			}
		})
	}
}

// TestTokenFileIsReadAgain: a token that was replaced is used without a restart.
func TestTokenFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	own := (&codeHostOptions{gitLabTokenFile: path}).config("").Hosts[v1alpha1.GitLab].Own
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := own(); err != nil || c.Token != want {
			t.Errorf("got %+v, %v, want %s", c, err, want)
		}
	}
}
