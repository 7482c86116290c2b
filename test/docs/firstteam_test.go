package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

// TestFirstTeam pastes the blocks of docs/first-team.md, in their order, into one shell that has the variables of the development cluster,
// from step 2 on, as the page says for that cluster. What commands print is what the page shows. The API server, the manager, kubectl and
// postflight are real; the scripts of containers run on this machine. test/e2e and hack/release have the real pods.
func TestFirstTeam(t *testing.T) {
	s := installed(t)
	newKubelet(t).cluster().Start(t, s)
	m := managers.Start(t, managers.Options{Kubeconfig: apiserver.Kubeconfig(t, s.Manager(t))})
	m.AwaitReady()
	_, blocks := Read(t, "docs/first-team.md")
	w := &walk{dir: t.TempDir()}
	for _, b := range blocks {
		if !strings.HasPrefix(b.Heading, "1. ") {
			w.add(t, b)
		}
	}
	if len(w.commands) < 5 || len(w.files) != 2 {
		t.Fatalf("the page has the commands %v and %d files", w.commands, len(w.files))
	}
	w.run(t, append(w.env(t, m.URL, apiserver.Kubeconfig(t, s.Config)), "HOME="+w.dir))
}

// walk is what a reader does in a shell.
type walk struct {
	dir      string
	files    map[string]bool
	script   strings.Builder
	commands []command
}

type command struct {
	text, shown string // shown is what the page says that it prints
	line        int
}

// waits follow what the manager has to see before a person has typed the next command.
var waits = map[string]string{
	"kubectl apply":          "kubectl wait --for=condition=Ready --timeout=60s team/acme trigger/hello -n acme",
	"postflight keys create": "kubectl wait --for=condition=Ready --timeout=60s apikey/ci -n acme",
}

func (w *walk) add(t *testing.T, b Block) {
	t.Helper()
	switch {
	case b.File != "":
		if w.files == nil {
			w.files = map[string]bool{}
		}
		w.files[b.File] = true
		if err := os.WriteFile(filepath.Join(w.dir, b.File), []byte(b.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	case b.Language == "sh":
		w.enter(command{text: strings.TrimSpace(b.Text), line: b.Line})
	case b.Language == "console":
		for session := range strings.SplitSeq("\n"+b.Text, "\n$ ") {
			if text, shown, _ := strings.Cut(strings.TrimPrefix(session, "\n"), "\n"); text != "" {
				w.enter(command{text, strings.TrimSpace(shown), b.Line})
			}
		}
	default:
		t.Errorf("line %d: nothing says what to do with this block of %q", b.Line, b.Language)
	}
}

const mark = "@@@"

func (w *walk) enter(c command) {
	fmt.Fprintf(&w.script, "echo %s\n%s\n", mark, c.text)
	w.commands = append(w.commands, c)
	for begins, wait := range waits {
		if strings.Contains(c.text, begins) {
			fmt.Fprintf(&w.script, "%s >/dev/null\n", wait)
		}
	}
}

// env is what .dev/env exports, by the names in the code that writes it. What this test does not know has a value of another team.
func (w *walk) env(t *testing.T, url, kubeconfig string) (env []string) {
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

func (w *walk) run(t *testing.T, env []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec 2>&1\n"+w.script.String())
	cmd.Dir, cmd.Env = w.dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the shell ended with %v", err)
	}
	printed := strings.Split(string(out), mark+"\n")[1:]
	if len(printed) != len(w.commands) {
		t.Fatalf("%d commands printed\n%s", len(w.commands), out)
	}
	for i, c := range w.commands {
		if got := strings.TrimSpace(printed[i]); c.shown != "" && !pattern(c.shown).MatchString(got) {
			t.Errorf("line %d: $ %s\nprints\n%s\nand the page shows\n%s", c.line, c.text, got, c.shown)
		} else if c.shown == "" && strings.Contains(strings.ToLower(got), "error") {
			t.Errorf("line %d: $ %s\nprints\n%s", c.line, c.text, got)
		}
	}
}

// varying are parts of what commands print that differ each time, and what they look like. Words may be spaced differently.
var varying = [][2]string{
	{`hello-[a-z0-9]{16}`, `hello-[a-z0-9]{16}`}, {`\d\d:\d\d:\d\d`, `\d\d:\d\d:\d\d`}, {`\b\d+s\b`, `\d+m?s`}, {`http://127\.0\.0\.1:\d+`, `http://127\.0\.0\.1:\d+`},
}

// pattern matches what a page shows. A line "..." stands for any lines.
func pattern(shown string) *regexp.Regexp {
	text := regexp.QuoteMeta(shown)
	for _, v := range varying {
		quoted := regexp.MustCompile(strings.ReplaceAll(v[0], `\.`, `\\\.`))
		text = quoted.ReplaceAllLiteralString(text, v[1])
	}
	text = strings.ReplaceAll(text, "\n\\.\\.\\.\n", `\n(?s:.*)`)
	return regexp.MustCompile("^" + regexp.MustCompile(` +`).ReplaceAllString(text, ` +`) + "$")
}
