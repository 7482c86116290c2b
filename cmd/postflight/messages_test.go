package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsInMessages: a command in a message works when it is pasted. It exists, it accepts its flags and arguments, and it names the
// namespace, because who pastes it may have another one by default. What only names a command, and no arguments, is not checked.
func TestCommandsInMessages(t *testing.T) {
	checked := 0
	for place, text := range messages(t) {
		for _, command := range commandsIn(text) {
			checked++
			if problem := commandProblem(command, !byServer(place)); problem != "" {
				t.Errorf("%s: %q: %s", place, command, problem)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands were found", checked)
	}
}

// byServer reports whether a message comes from a command that asks the server, which has the namespace of the key. Those of runs name it
// if they ask the cluster, which their own tests check.
func byServer(place string) bool {
	return slices.ContainsFunc([]string{"gate/", "tests/", "runs/", "upload/", "replay/", "whoami/"}, func(folder string) bool {
		return strings.Contains(place, "cmd/postflight/"+folder)
	})
}

func TestCommandProblem(t *testing.T) {
	for command, says := range map[string]string{
		"postflight runs show r -n acme":       "",
		"postflight runs show r":               "no -n",
		"postflight runs show":                 "", // names the command
		"postflight runs shw r -n acme":        "unknown command",
		"postflight runs show r -x":            "unknown shorthand flag",
		"postflight runs show r s -n acme":     "accepts 1 arg",
		"postflight notify --rerun":            "",
		"postflight doctor says more":          "unknown command",
		"kubectl get pods -l a=b":              "no -n",
		"kubectl get pods -l a=b -n acme":      "",
		"kubectl get -A triggers":              "",
		"kubectl describe crd suites":          "",
		"kubectl logs":                         "",
		"kubectl apply -k config/crd":          "",
		"kubectl delete pod -n X X --force":    "",
		"kubectl create rolebinding x -n shop": "",
	} {
		if got := commandProblem(command, true); got != "" != (says != "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q, want %q", command, got, says)
		}
	}
	got := commandsIn(`See "postflight runs list", or: postflight keys list -n X. As postflight does, kubectl get pods, and more.`)
	if want := []string{"postflight runs list", "postflight keys list -n X", "kubectl get pods"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

var (
	commandStart = regexp.MustCompile("(?:^|[\\s\"`('])(postflight|kubectl) ")
	commandEnd   = regexp.MustCompile("[\"`\\n<>|&;)\\\\]|[.,:](\\s|$)")
)

// commandsIn finds commands in a text: each ends with a quote, a line or a part of a sentence. Other words follow the name in prose.
func commandsIn(text string) (all []string) {
	for _, start := range commandStart.FindAllStringSubmatchIndex(text, -1) {
		command := text[start[2]:]
		if end := commandEnd.FindStringIndex(command); end != nil {
			command = command[:end[0]]
		}
		command = strings.TrimSpace(command)
		words := strings.Fields(command)
		known, _, err := newRoot().Find(words[1:])
		if words[0] == "kubectl" || err == nil && known.HasParent() {
			all = append(all, command)
		}
	}
	return all
}

// commandProblem returns why a command does not work when it is pasted, or "".
func commandProblem(command string, namespaced bool) string {
	words := strings.Fields(command)
	if words[0] == "kubectl" {
		if len(words) > 2 && !clusterWide(words[1:]) && !slices.ContainsFunc(words, func(w string) bool { return w == "-n" || w == "-A" }) {
			return "no -n"
		}
		return ""
	}
	cmd, err := parsed(words[1:])
	if err != nil {
		return err.Error()
	}
	if cmd.Flags().NFlag() == 0 && cmd.Flags().NArg() == 0 && cmd.Args != nil { // names the command
		return ""
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	return needsNamespace(cmd, namespaced)
}

func needsNamespace(cmd *cobra.Command, namespaced bool) string {
	f := cmd.Flags().Lookup("namespace")
	if f == nil || f.Changed || !namespaced || cmd.Name() == "doctor" { // which has a default
		return ""
	}
	return "no -n"
}

func clusterWide(words []string) bool {
	kinds := []string{"crd", "crds", "team", "teams", "validatingadmissionpolicy", "triggerclass", "triggerclasses", "namespace", "namespaces"}
	return slices.Contains([]string{"apply", "kustomize", "explain", "config", "auth", "api-resources"}, words[0]) || slices.Contains(kinds, words[1])
}

// messages returns the texts of the product by where they are: literals with X for what is put in, and templates of pages.
func messages(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, root := range []string{"../../cmd", "../../internal", "../../controllers"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || strings.Contains(path, "testdata"):
				return err
			case d.IsDir():
				return addLiterals(path, all)
			case strings.HasSuffix(path, ".html"):
				content, err := os.ReadFile(path)
				for i, line := range strings.Split(string(content), "\n") {
					all[fmt.Sprintf("%s:%d", path, i+1)] = placeholder.ReplaceAllString(line, "X")
				}
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

var placeholder = regexp.MustCompile(`%(\[\d+\])?[a-z]|\{\{[^}]*\}\}`)

// addLiterals adds the messages of a package.
func addLiterals(dir string, all map[string]string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	l := literals{set: token.NewFileSet(), constants: map[string]string{}, all: all}
	var parsed []*ast.File
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(l.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.ValueSpec); ok && len(c.Values) == 1 {
				if text, known := l.text(c.Values[0]); known {
					l.constants[c.Names[0].Name] = text
				}
			}
			return true
		})
	}
	for _, f := range parsed {
		ast.Inspect(f, l.visit)
	}
	return nil
}

type literals struct {
	set       *token.FileSet
	constants map[string]string
	all       map[string]string
}

// visit skips the help of commands, whose examples show how the environment decides.
func (l *literals) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return !ok || !slices.Contains([]string{"Long", "Short", "Example", "Use"}, key.Name)
	case *ast.ValueSpec:
		return !regexp.MustCompile(`(?i)(long|example|twoWays|whatIsKnown)$`).MatchString(n.Names[0].Name)
	case *ast.BinaryExpr:
		if text, known := l.text(n); known {
			l.all[l.set.Position(n.Pos()).String()] = text
		}
		return false
	case *ast.BasicLit:
		if text, known := l.text(n); known {
			l.all[l.set.Position(n.Pos()).String()] = text
		}
	}
	return true
}

// text joins literals, with X for everything else.
func (l *literals) text(e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return placeholder.ReplaceAllString(text, "X"), err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, known = l.constants[e.Name]
		return text, known
	case *ast.BinaryExpr:
		left, a := l.text(e.X)
		right, b := l.text(e.Y)
		if !a {
			left = "X"
		}
		if !b {
			right = "X"
		}
		return left + right, a || b
	}
	return "", false
}
