package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
)

// shell is that of a reader who has sourced the variables of the development cluster.
type shell struct {
	server *apiserver.Server
	dir    string
	env    []string
}

// newShell has an API server with what config/default has, and a manager.
func newShell(t *testing.T) *shell {
	t.Helper()
	s := installed(t)
	m := managers.Start(t, managers.Options{Kubeconfig: apiserver.Kubeconfig(t, s.Manager(t))})
	m.AwaitReady()
	dir := t.TempDir()
	return &shell{s, dir, append(variables(t, m.URL, apiserver.Kubeconfig(t, s.Config)), "HOME="+dir)}
}

// run returns what a script prints, which must succeed.
func (s *shell) run(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s\nends with %v and prints\n%s", script, err, out)
	}
	return string(out)
}

// save writes a file of the reader.
func (s *shell) save(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// variables are what .dev/env exports, by the names in the code that writes it. What this test does not know has a value of another team.
func variables(t *testing.T, url, kubeconfig string) (env []string) {
	t.Helper()
	code, err := os.ReadFile(filepath.Join(root(t), "hack", "dev", "internal", "session", "env.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, variables, found := strings.Cut(string(code), "userVariables() variables {")
	variables, _, ends := strings.Cut(variables, "\n}\n")
	if !found || !ends {
		t.Fatal("the variables of .dev/env are not found")
	}
	known := map[string]string{"KUBECONFIG": kubeconfig, "POSTFLIGHT_URL": url}
	for _, m := range regexp.MustCompile(`\{"(\w+)",`).FindAllStringSubmatch(variables, -1) {
		value, is := known[m[1]]
		if !is {
			value = "demo"
		}
		env = append(env, m[1]+"="+value)
	}
	bin := filepath.Join(root(t), "bin")
	return append(env, "PATH="+bin+":"+filepath.Join(bin, "cluster")+":"+os.Getenv("PATH"))
}
