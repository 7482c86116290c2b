package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// unsigned is a token with these claims. Its signature is not checked here.
func unsigned(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + "." + part([]byte("signature"))
}

// machine is one with these variables, at noon.
func machine(env map[string]string) Machine {
	return Machine{
		Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return noon }, HTTP: ThisMachine().HTTP,
		Program: func(name string) (string, error) { return "", &exec.Error{Name: name, Err: exec.ErrNotFound} },
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhichCredential: the first credential that exists identifies the command.
func TestWhichCredential(t *testing.T) {
	dir := t.TempDir()
	key, token, empty := write(t, dir+"/key", "from-file\n"), write(t, dir+"/token", "sa-token\n"), write(t, dir+"/empty", " \n")
	github := gitHub(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"count":1,"value":"github-token"}`) })
	everything := map[string]string{"POSTFLIGHT_API_KEY": "from-variable", "POSTFLIGHT_API_KEY_FILE": key, "POSTFLIGHT_TOKEN_FILE": token,
		"POSTFLIGHT_ID_TOKEN": "id-token"}
	for name, value := range github {
		everything[name] = value
	}
	without := func(names ...string) map[string]string {
		env := map[string]string{}
		for name, value := range everything {
			env[name] = value
		}
		for _, name := range names {
			env[name] = ""
		}
		return env
	}
	cases := map[string]struct {
		env   map[string]string
		mount string // the default path of the token
		want  string // the token
		from  string
		says  string // of the error
	}{
		"all there is":    {env: everything, want: "from-variable", from: "the API key in POSTFLIGHT_API_KEY"},
		"a key in a file": {env: without("POSTFLIGHT_API_KEY"), want: "from-file", from: "the API key in " + key},
		"a named file": {env: without("POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE"), mount: key, want: "sa-token",
			from: "the token in " + token},
		"a mounted file": {env: without("POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE", "POSTFLIGHT_TOKEN_FILE"), mount: token,
			want: "sa-token", from: "the token in " + token},
		"a variable": {env: without("POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE", "POSTFLIGHT_TOKEN_FILE"), mount: dir + "/none",
			want: "id-token", from: "the token in POSTFLIGHT_ID_TOKEN"},
		"GitHub": {env: github, want: "github-token", from: "a token of GitHub Actions"},
		"an empty secret": {env: map[string]string{"POSTFLIGHT_API_KEY": " ", "POSTFLIGHT_ID_TOKEN": "id-token"}, want: "id-token",
			from: "the token in POSTFLIGHT_ID_TOKEN"},
		"nothing": {says: "there is no credential"},
		"no key file": {env: map[string]string{"POSTFLIGHT_API_KEY_FILE": dir + "/none", "POSTFLIGHT_ID_TOKEN": "id-token"},
			says: "POSTFLIGHT_API_KEY_FILE"},
		"an empty key file": {env: map[string]string{"POSTFLIGHT_API_KEY_FILE": empty, "POSTFLIGHT_ID_TOKEN": "id-token"},
			says: "it is empty"},
		"a key cut short": {env: map[string]string{"POSTFLIGHT_API_KEY": "pf_" + strings.Repeat("a", 38)}, says: "mistyped or cut"},
		"no token file": {env: map[string]string{"POSTFLIGHT_TOKEN_FILE": dir + "/none", "POSTFLIGHT_ID_TOKEN": "id-token"},
			says: "no such file"},
		"a folder":              {env: map[string]string{"POSTFLIGHT_TOKEN_FILE": dir}, says: "is a directory"},
		"a file without an end": {env: map[string]string{"POSTFLIGHT_TOKEN_FILE": "/dev/zero"}, says: "longer than"},
		"an empty token file":   {env: map[string]string{"POSTFLIGHT_TOKEN_FILE": empty}, says: "has no token: it is empty"},
		"a page in a file": {env: map[string]string{"POSTFLIGHT_TOKEN_FILE": write(t, dir+"/page", "<html>log in, S3CRET</html>")},
			says: "one word"},
		"a second header": {env: map[string]string{"POSTFLIGHT_ID_TOKEN": "S3CRET\r\nX-Other: 1"}, says: "one word"},
		"a long token":    {env: map[string]string{"POSTFLIGHT_ID_TOKEN": strings.Repeat("S3CRET", 2000)}, says: "longer than"},
		"no audience": {env: map[string]string{"POSTFLIGHT_AUDIENCE": "a b", "POSTFLIGHT_ID_TOKEN": "id-token"},
			says: "POSTFLIGHT_AUDIENCE"},
		"half of GitHub": {env: map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "https://x", "GITHUB_ACTIONS": "true"},
			says: "permissions: {id-token: write"},
		"GitHub over http": {env: map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "http://example.com/?x=1",
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "S3CRET"}, says: "plain http"},
		"GitHub without a URL": {env: map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "file:///etc/passwd",
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "S3CRET"}, says: "is not a URL"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := machine(tc.env)
			m.TokenFile = tc.mount
			c, err := m.Find()
			if (err != nil) != (tc.says != "") || err != nil && (!strings.Contains(err.Error(), tc.says) ||
				strings.Contains(err.Error(), "S3CRET")) {
				t.Fatalf("%v, want %q and no secret", err, tc.says)
			}
			if err != nil {
				return
			}
			got, err := c.Token(t.Context(), "")
			if err != nil || got != tc.want || c.From != tc.from || c.Key != strings.HasPrefix(tc.from, "the API key") {
				t.Errorf("%q from %q, %v; want %q from %q", got, c.From, err, tc.want, tc.from)
			}
		})
	}
}

// TestRotation: the kubelet replaces the file by renaming a link, and the next request has the new token.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	mount := func(version, token string) {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, version), 0o755), os.WriteFile(filepath.Join(dir, version, "token"), []byte(token),
			0o600),
			os.Symlink(version, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	mount("..1", "first")
	if err := os.Symlink("..data/token", filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	m := machine(nil)
	m.TokenFile = filepath.Join(dir, "token")
	c, err := m.Find()
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		if got, err := c.Token(t.Context(), ""); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	expect("first")
	mount("..2", "second")
	expect("second")
	if err := os.Remove(filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	_, err = c.Token(t.Context(), "")
	if passing, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); !ok || !passing.Temporary() {
		t.Errorf("%v: a file that is missing for a moment ends the wait", err)
	}
	mount("..3", "third")
	expect("third")
}

func TestKept(t *testing.T) {
	expires := func(after time.Duration) string { return unsigned(fmt.Sprintf(`{"exp":%d}`, noon.Add(after).Unix())) }
	cases := map[string]struct {
		tokens  []string // that the issuer gives, one after the other
		at      []time.Duration
		refused bool // the last one, before the last request
		want    int  // requests to the issuer
	}{
		"one of five minutes": {tokens: []string{expires(5 * time.Minute)}, at: []time.Duration{0, time.Minute, 4 * time.Minute}, want: 1},
		"shortly before it ends": {tokens: []string{expires(5 * time.Minute), expires(10 * time.Minute)},
			at: []time.Duration{0, 4*time.Minute + 31*time.Second, 5 * time.Minute}, want: 2},
		"refused before": {tokens: []string{expires(5 * time.Minute), expires(6 * time.Minute)}, at: []time.Duration{0, time.Minute},
			refused: true, want: 2},
		"it does not say": {tokens: []string{"opaque"}, at: []time.Duration{0, time.Hour}, want: 1},
		"an odd end":      {tokens: []string{unsigned(`{"exp":1e300}`)}, at: []time.Duration{0, time.Hour}, want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, asked := noon, 0
			k := &kept{now: func() time.Time { return now }, request: func(context.Context) (string, error) {
				asked++
				return tc.tokens[min(asked, len(tc.tokens))-1], nil
			}}
			refused, token := "", ""
			for i, after := range tc.at {
				now = noon.Add(after)
				if tc.refused && i == len(tc.at)-1 {
					refused = token
				}
				var err error
				if token, err = k.Token(t.Context(), refused); err != nil || token == "" {
					t.Fatalf("%q, %v", token, err)
				}
			}
			if asked != tc.want {
				t.Errorf("%d requests to the issuer, want %d", asked, tc.want)
			}
			// Another wait was refused with the token before this one, which has been replaced already.
			if _, err := k.Token(t.Context(), "an earlier one"); err != nil || asked != tc.want {
				t.Errorf("%v, and %d requests", err, asked)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	const claims = `{"iss":"https://gitlab.example.com","sub":"project_path:acme/shop\u001b[31m","aud":%s,"exp":%d}`
	cases := map[string]struct {
		token string
		says  []string
	}{
		"expired": {unsigned(fmt.Sprintf(claims, `"postflight"`, noon.Add(-3*time.Minute).Unix())),
			[]string{`the issuer "https://gitlab.example.com"`, `the audience "postflight"`, `"project_path:acme/shop"`, "which expired 3m0s ago",
				"Get a new one"}},
		"not expired": {unsigned(fmt.Sprintf(claims, `["a","b"]`, noon.Add(3*time.Minute).Unix())),
			[]string{`the audience "a, b"`, "which expires in 3m0s", "trusts this issuer and audience"}},
		"no end":      {unsigned(`{"iss":"x"}`), []string{`the issuer "x"`, "trusts this issuer and audience."}},
		"no token":    {"S3CRET", []string{"which is no JSON Web Token"}},
		"odd claims":  {unsigned(`{"aud":{"S3CRET":1},"exp":-1}`), []string{`the audience ""`}},
		"no claims":   {unsigned(`["S3CRET"]`), []string{"which is no JSON Web Token"}},
		"no encoding": {"a.S3CRET!.b", []string{"which is no JSON Web Token"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := (&explained{from: "the token in POSTFLIGHT_ID_TOKEN", now: func() time.Time { return noon }}).Explain(tc.token)
			for _, want := range append(tc.says, "POSTFLIGHT_ID_TOKEN") {
				if !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
			if strings.Contains(text, tc.token) || strings.Contains(text, "S3CRET") || strings.Contains(text, "\x1b") {
				t.Errorf("%q shows the token, or a code of a terminal", text)
			}
		})
	}
}

func TestInTheClear(t *testing.T) {
	cases := map[string]bool{
		"http://postflight.postflight-system.svc": true,
		"http://postflight.example.com:8080":      true,
		"HTTP://postflight.example.com":           true,
		"http://10.0.0.1":                         true,
		"http://[2001:db8::1]:80":                 true,
		"http://0.0.0.0:8080":                     true,
		"http://localhost.example.com":            true,
		"http://127.0.0.1.example.com":            true,
		"https://postflight.example.com":          false,
		"http://localhost:8080":                   false,
		"http://LOCALHOST.":                       false,
		"http://127.0.0.1:8080":                   false,
		"http://127.9.9.9":                        false,
		"http://[::1]:8080":                       false,
		"http://[::ffff:127.0.0.1]":               false,
	}
	for address, want := range cases {
		if got := InTheClear(address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
