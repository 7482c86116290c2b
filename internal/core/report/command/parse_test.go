package command

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		body   string
		want   Command
		found  bool
	}{
		"rerun":                    {"all runs", "/postflight rerun", Command{Verb: Rerun}, true},
		"rerun of a Trigger":       {"its runs", "/postflight rerun smoke", Command{Verb: Rerun, Trigger: "smoke"}, true},
		"rerun of failed tests":    {"in either order", "/postflight rerun smoke --failed", Command{Verb: Rerun, Trigger: "smoke", Failed: true}, true},
		"failed tests of all":      {"without a Trigger", "/postflight rerun --failed\r\n", Command{Verb: Rerun, Failed: true}, true},
		"cancel":                   {"", "/postflight cancel", Command{Verb: Cancel}, true},
		"status":                   {"", "/postflight  status \t", Command{Verb: Status}, true},
		"after other text":         {"people say why", "The network failed.\n\n/postflight rerun\nThanks!", Command{Verb: Rerun}, true},
		"the first line counts":    {"one comment is one command", "/postflight status\n/postflight cancel", Command{Verb: Status}, true},
		"no verb":                  {"it is answered", "/postflight", Command{}, true},
		"another verb":             {"it is answered", "/postflight explode", Command{}, true},
		"too many words":           {"a sentence is no command", "/postflight cancel everything now", Command{}, true},
		"a Trigger with markup":    {"names are DNS labels", "/postflight rerun <b>smoke</b>", Command{}, true},
		"a flag twice":             {"it cannot be read", "/postflight rerun --failed --failed", Command{}, true},
		"bidi in a name":           {"it cannot be read", "/postflight rerun smo\u202eke", Command{}, true},
		"ANSI in a verb":           {"it cannot be read", "/postflight \x1b[31mrerun", Command{}, true},
		"nothing":                  {"", "", Command{}, false},
		"in a sentence":            {"the line begins otherwise", "Write /postflight rerun to repeat it.", Command{}, false},
		"indented":                 {"Markdown shows code", "    /postflight rerun", Command{}, false},
		"another word":             {"it only begins alike", "/postflights rerun", Command{}, false},
		"quoted":                   {"the words of others", "> /postflight rerun", Command{}, false},
		"quoted without sign":      {"a quote continues on the next line", "> try this\n/postflight rerun", Command{}, false},
		"after a quote":            {"an empty line ends it", "> it failed\n\n/postflight rerun", Command{Verb: Rerun}, true},
		"in a block of code":       {"an example", "```\n/postflight rerun\n```", Command{}, false},
		"in a block of a language": {"an example", "```sh\n/postflight rerun\n```", Command{}, false},
		"a fence within a longer":  {"the longer ends it", "````\n```\n/postflight rerun\n````", Command{}, false},
		"in tildes":                {"an example", "~~~\n/postflight rerun\n~~~", Command{}, false},
		"a fence that never ends":  {"the rest is code", "```\nlog\n/postflight rerun", Command{}, false},
		"after a block of code":    {"", "```\nlog\n```\n/postflight rerun", Command{Verb: Rerun}, true},
		"in a quote of GitLab":     {"the words of others", ">>>\n/postflight rerun\n>>>", Command{}, false},
		"in an HTML comment":       {"readers do not see it", "Looks good <!--\n/postflight cancel\n-->", Command{}, false},
		"in an HTML block":         {"an example", "<pre>\n/postflight rerun\n</pre>", Command{}, false},
		"after an HTML comment":    {"", "<!-- a template -->\n/postflight rerun", Command{Verb: Rerun}, true},
		"in HTML in a comment":     {"the comment began first, always", "<!-- <pre\n/postflight rerun\n</pre\n/postflight cancel", Command{}, false},
		"bidi before the slash":    {"the line begins otherwise", "\u202e/postflight rerun", Command{}, false},
		"1 MiB":                    {"it is bounded", strings.Repeat("a", 1<<20) + "\n/postflight rerun", Command{}, false},
		"many lines":               {"it is bounded", strings.Repeat("\n", maxBody-20) + "/postflight cancel", Command{Verb: Cancel}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, found := Parse(tc.body); got != tc.want || found != tc.found {
				t.Errorf("%s: %+v, %t, want %+v, %t", tc.reason, got, found, tc.want, tc.found)
			}
		})
	}
}
