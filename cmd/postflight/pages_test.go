package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/test/docs"
)

// TestCommandsInPages: each command line of postflight in a page has a command, flags and a number of arguments that exist.
func TestCommandsInPages(t *testing.T) {
	found := 0
	for _, page := range docs.Pages(t) {
		text, blocks := docs.Read(t, page)
		for _, b := range blocks {
			if b.Language == "json" { // a command in it is quoted, and its text is made by the program
				continue
			}
			for _, line := range commandLines(b.Text) {
				found++
				if err := check(line, true); err != nil {
					t.Errorf("%s, the block of line %d: postflight %s: %v", page, b.Line, line, err)
				}
			}
		}
		for _, quoted := range regexp.MustCompile("`(postflight [^`]+)`").FindAllStringSubmatch(text, -1) { // which may be a part
			for _, line := range commandLines(strings.ReplaceAll(quoted[1], "\n", " ")) {
				found++
				if err := check(line, false); err != nil {
					t.Errorf("%s: `%s`: %v", page, quoted[1], err)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d command lines were found", found)
	}
}

// TestWrongCommandsAreFound tries the test above on each kind of mistake.
func TestWrongCommandsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"postflight notify --branch main --wait -o json > out.json || code=$?": 0,
		"  KEY=$(postflight keys create ci -n acme)  # a comment":              0,
		`postflight wait "$(postflight runs rerun --failed RUN)"`:              0,
		"postflight notify --type a \\\n  --wait":                              0,
		"command: [/postflight, notify, --type, staging]":                      0,
		"kubectl get secret postflight -n postflight-system":                   0,
		"postflight notify --brunch main":                                      1,
		"postflight nothing":                                                   1,
		"postflight runs lst":                                                  1,
		"postflight runs show":                                                 1,
		"true && postflight version 2":                                         1,
		`postflight wait "$(postflight runs rerun --fail RUN)"`:                1,
	} {
		problems := 0
		for _, line := range commandLines(text) {
			if check(line, true) != nil {
				problems++
			}
		}
		if problems != want {
			t.Errorf("%s has %d problems, want %d: %q", text, problems, want, commandLines(text))
		}
	}
}

// begins is where a command of the program begins: not at an image, a Secret or a namespace of its name.
var begins = regexp.MustCompile(`(?m)(^|\$ |\$\(|[|;&] |(?:run|if|then|do|!|exec|time|sudo): ?|["'(]|\b[A-Z_]+=\S+ )[ \t]*postflight `)

// commandLines returns the arguments of each call, as a text.
func commandLines(text string) (lines []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for _, at := range begins.FindAllStringIndex(text, -1) {
		lines = append(lines, untilEnd(text[at[1]:]))
	}
	return lines
}

// untilEnd returns what belongs to a command: all until an operator of the shell outside of quotes.
func untilEnd(text string) string {
	quote, depth := rune(0), 0
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '(':
			depth++
		case r == ')' && depth > 0:
			depth--
		case strings.ContainsRune("\n|;&><)", r), r == '#' && i > 0 && text[i-1] == ' ':
			return strings.TrimSpace(text[:i])
		}
	}
	return strings.TrimSpace(text)
}

var word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|\$\([^)]*\)|\S)+`)

// check finds the command of a line, and parses its flags; whole lines have all arguments, too.
func check(line string, whole bool) error {
	args := word.FindAllString(line, -1)
	for i := range args {
		args[i] = strings.Trim(args[i], `"'`)
	}
	if slices.Contains(args, "…") || slices.Contains(args, "...") {
		_, _, err := newRoot().Find(args)
		return err
	}
	cmd, err := parsed(args)
	if err != nil {
		return err
	}
	if !whole || !cmd.Runnable() {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// parsed returns the command that arguments name, with their flags, which it has to accept.
func parsed(args []string) (*cobra.Command, error) {
	root := newRoot()
	root.SetOut(io.Discard)
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil, err
	}
	if cmd.HasAvailableSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return nil, fmt.Errorf("unknown command %s %s", cmd.CommandPath(), rest[0])
	}
	cmd.InitDefaultHelpFlag()
	return cmd, cmd.ParseFlags(rest)
}
