package main

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
)

// invoke runs a command line of the program, and returns its standard error and its exit code.
func invoke(t *testing.T, args string) (log string, code int) {
	return invokeWords(t, strings.Fields(args))
}

func invokeWords(t *testing.T, args []string) (log string, code int) {
	var stderr bytes.Buffer
	root := newRoot()
	root.SetOut(io.Discard)
	root.SetErr(&stderr)
	code = cli.Execute(t.Context(), root, args)
	return stderr.String(), code
}

// Pipelines depend on the exit code: a typing error must not look like a failed run.
func TestExitCodesOfMistakes(t *testing.T) {
	for _, name := range []string{"POSTFLIGHT_URL", "POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE"} {
		t.Setenv(name, "")
	}
	cases := map[string]struct {
		reason, args string
		code         int
	}{
		"no command":                  {reason: "prints the help", args: ""},
		"a group":                     {reason: "prints the help", args: "runs"},
		"help":                        {args: "notify --help"},
		"mistyped command":            {args: "notfy --wait", code: 3},
		"mistyped command of a group": {args: "runs lst", code: 3},
		"mistyped shell":              {args: "completion bsh", code: 3},
		"mistyped flag before":        {args: "--wiat notify", code: 3},
		"mistyped flag of a gate":     {args: "notify --wiat", code: 3},
		"mistyped flag elsewhere":     {args: "runs list --brunch main", code: 3},
		"mistyped flag of a group":    {args: "keys --naem x", code: 3},
		"no argument":                 {args: "runs show", code: 3},
		"too many arguments":          {args: "version 2", code: 3},
		"a value of no use":           {args: "wait a --timeout soon", code: 3},
		"a format of no use":          {args: "version -o toml", code: 3},
		"logs are no JSON":            {args: "runs logs a -o json --kubeconfig testdata/none", code: 3},
		"a time of no use":            {args: "keys create a --expires soon --kubeconfig testdata/none", code: 3},
		"a state of no use":           {args: "runs list --state bogus --kubeconfig testdata/none", code: 3},
		"a run may be Starting": {reason: "there is only no cluster", args: "runs list --state starting --kubeconfig testdata/none",
			code: 1},
		"no server":  {args: "wait a", code: 3},
		"no cluster": {reason: "nothing is wrong with the command line", args: "runs list --kubeconfig testdata/none", code: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if log, code := invoke(t, tc.args); code != tc.code {
				t.Errorf("postflight %s: exit code %d, want %d. %s\n%s", tc.args, code, tc.code, tc.reason, log)
			}
		})
	}
}

// TestUnitsOfDurations: all flags take the same, days included, and then nothing but the server or the cluster is missing.
func TestUnitsOfDurations(t *testing.T) {
	t.Setenv("POSTFLIGHT_URL", "")
	for _, args := range []string{"hold staging --for 7d", "hold staging --for 1d12h", "debug a --for 1d", "wait a --timeout 1d", "wait a --patience 1d",
		"tests list --days 7d", "tests list --days 7", "tests show a --days 7d", "keys create a --expires 90d", "keys create a --expires 1h30m",
		"keys rotate a --secret s --expires 1y --overlap 1w", "replay -f root.go --since 1d", "replay -f root.go --since 1d12h"} {
		cluster := regexp.MustCompile("^(hold|debug|keys)").MatchString(args)
		if cluster {
			args += " --kubeconfig testdata/none"
		}
		if log, _ := invoke(t, args); !strings.Contains(log, map[bool]string{true: "kubeconfig", false: "no server is named"}[cluster]) ||
			strings.Contains(log, "invalid argument") {
			t.Errorf("postflight %s: %s", args, log)
		}
	}
	for args, says := range map[string]string{
		"hold staging --for soon": `"soon" is no duration: write it like 90m, 12h or 7d`,
		"tests list --days week":  `"week" is no number of days: write it like 7`,
	} {
		if log, code := invoke(t, args); code != 3 || !strings.Contains(log, says) {
			t.Errorf("postflight %s: %d %s", args, code, log)
		}
	}
}

// A person who mistyped a command needs the right one.
func TestMistakesSayWhatToWrite(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	cases := map[string]struct{ args, says string }{
		"a mistyped command of a group": {"runs lst", "Did you mean this?\n\tlist"},
		"no argument":                   {"wait", "Usage: postflight wait RUN... [flags]\nSee 'postflight wait --help'"},
		"a verb of kubectl":             {"triggers get", "Did you mean this?\n\tlist\n\tshow"},
		"a verb of gh":                  {"runs view", "Did you mean this?\n\tshow"},
		"a verb without its noun":       {"logs smoke-1", "Did you mean this?\n\truns"},
		"a verb of others without noun": {"retry smoke-1", "Did you mean this?\n\truns"},
		"the beginning of a flag":       {"notify --repo acme/shop", "unknown flag: --repo\n\nDid you mean this?\n\t--repository\nSee 'postflight notify --help'"},
		"a mistyped flag":               {"runs list --brunch main", "Did you mean this?\n\t--branch"},
		"a flag of other programs":      {"notify --commit cafe", "Did you mean this?\n\t--sha"},
		"JSON as with gh":               {"runs list --json", "unknown flag: --json\n\nDid you mean this?\n\t-o json"},
		"JSON with fields":              {"runs list --json=id", "Did you mean this?\n\t-o json"},
		"YAML":                          {"triggers show e2e --yaml", "Did you mean this?\n\t-o yaml"},
		"the version":                   {"--version", "Did you mean this?\n\tpostflight version"},
		"a short flag":                  {"runs list -x", "unknown shorthand flag: 'x' in -x\nSee"},
		"nothing like it":               {"runs list --xyzzy", "unknown flag: --xyzzy\nSee"},
		"an argument too many":          {"notify main", "Usage: postflight notify [flags]"},
		"no kubeconfig": {"runs list",
			"Error: there is no kubeconfig. Set KUBECONFIG or --kubeconfig, or POSTFLIGHT_URL and POSTFLIGHT_API_KEY to ask the server\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log, _ := invoke(t, tc.args)
			clitest.Contains(t, "postflight "+tc.args, log, tc.says)
		})
	}
}

// TestAnEmptyNameIsAMistake: a script passes an empty name when the command that should have printed one failed.
func TestAnEmptyNameIsAMistake(t *testing.T) {
	for _, name := range []string{"POSTFLIGHT_URL", "POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE"} {
		t.Setenv(name, "")
	}
	const run = "no run is named: RUN is empty. If it came from another command, see the error of that command\nUsage: "
	for args, says := range map[string]string{
		"runs show ''":                 run,
		"runs results ''":              run,
		"runs logs ''":                 run,
		"runs cancel ''":               run,
		"runs rerun ''":                run,
		"runs rerun --failed ''":       run,
		"runs artifacts list ''":       run,
		"runs artifacts download '' *": run,
		"debug ''":                     run,
		"wait ''":                      run,
		"wait smoke-1 ''":              run,
		"wait ' '":                     run,
		"hold '' --for 1h":             "no environment is named: ENVIRONMENT is empty. ",
		"environments history ''":      "no environment is named: NAME is empty. ",
		"environments show ''":         "no environment is named: NAME is empty. ",
		"triggers show ''":             "no trigger is named: NAME is empty. ",
		"tests show ''":                "no test is named: NAME is empty. ",
	} {
		words := strings.Split(args, " ")
		if args == "wait ' '" {
			words = []string{"wait", " "}
		}
		for i := range words {
			words[i] = strings.Trim(words[i], "'")
		}
		if log, code := invokeWords(t, words); code != 3 || !strings.Contains(log, says) {
			t.Errorf("postflight %s: exit code %d, want 3 and %q\n%s", args, code, says, log)
		}
	}
	if log, _ := invokeWords(t, []string{"tests", "list", ""}); !strings.Contains(log, "no server is named") {
		t.Errorf("a part of a name may be empty: %s", log)
	}
}

func TestExplainHasACommandForEnvironments(t *testing.T) {
	if log, code := invoke(t, "explain environment --kubeconfig /nowhere"); code != 3 || strings.Contains(log, "unknown command") {
		t.Errorf("%d: %s", code, log)
	}
	if log, code := invoke(t, "explain nothing"); code != 3 || !strings.Contains(log, "unknown command") {
		t.Errorf("%d: %s", code, log)
	}
}

// TestCompletionOffersNoFiles: a shell offers the files of the folder unless it is told that an argument is none.
func TestCompletionOffersNoFiles(t *testing.T) {
	for _, args := range []string{"tests show |", "notify --type |"} {
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetErr(io.Discard)
		words := append([]string{"__completeNoDesc"}, strings.Fields(strings.TrimSuffix(args, "|"))...)
		if code := cli.Execute(t.Context(), root, append(words, "")); code != 0 || strings.TrimSpace(out.String()) != ":4" {
			t.Errorf("%s: %d %q", args, code, out.String())
		}
	}
}
