package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const printed = `Does something.

Available Commands:
  completion  Generate the autocompletion script
  help        Help about any command
  notify      Report a deployment
  run-input   Two words

Flags:
      --hold-budget duration   how long (default 45s)
  -h, --help                   help for manager
      --leader-elect           only one | of many

Use "x --help".
`

func TestFlagsOf(t *testing.T) {
	want := []flag{
		{"--hold-budget duration", "how long (default 45s)"}, {"-h, --help", "help for manager"}, {"--leader-elect", "only one | of many"},
	}
	if diff := cmp.Diff(want, flagsOf(printed), cmp.AllowUnexported(flag{})); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsOf(t *testing.T) {
	if diff := cmp.Diff([]string{"notify", "run-input"}, commandsOf(printed)); diff != "" {
		t.Error(diff)
	}
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"one\nline":               "one line",
		"two\n\nparagraphs":       "two<br>paragraphs",
		"a | b":                   `a \| b`,
		"<script> and `<b>`":      "&lt;script> and `<b>`",
		"`a`, <b>, `c`, <d>":      "`a`, &lt;b>, `c`, &lt;d>",
		"a line break <br> stays": "a line break <br> stays",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
