package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Run(m))
}

// TestFirstTeam pastes the blocks of docs/first-team.md, in their order, into one shell that has the variables of the development cluster,
// from step 2 on, as the page says for that cluster. What commands print is what the page shows. The API server, the manager, kubectl and
// postflight are real; the scripts of containers run on this machine. hack/release follows the page with real pods.
func TestFirstTeam(t *testing.T) {
	sh := newShell(t)
	newKubelet(t).cluster().Start(t, sh.server)
	_, blocks := Read(t, "docs/first-team.md")
	w := &walk{dir: sh.dir}
	for _, b := range blocks {
		if !strings.HasPrefix(b.Heading, "1. ") {
			w.add(t, b)
		}
	}
	if len(w.commands) < 5 || len(w.files) != 2 {
		t.Fatalf("the page has the commands %v and %d files", w.commands, len(w.files))
	}
	w.run(t, sh)
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
	"kubectl apply":          "kubectl wait --for=condition=Ready --timeout=180s team/acme trigger/hello -n acme",
	"postflight keys create": "kubectl wait --for=condition=Ready --timeout=180s apikey/ci -n acme",
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

func (w *walk) run(t *testing.T, sh *shell) {
	t.Helper()
	out := sh.run(t, "exec 2>&1\n"+w.script.String())
	printed := strings.Split(out, mark+"\n")[1:]
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
