package hostile

import (
	"slices"
	"strings"
	"testing"
)

// TestInterpreted: the check of Markdown finds each kind of what a text can become, or other tests would show nothing.
func TestInterpreted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, document string
		want             string // a part of the first finding; "": there is none
	}{
		"a link":                         {"it leads away", "[a](https://b.example)", "a link"},
		"a link by reference":            {"it leads away", "[a]\n\n[a]: https://b.example", "a link"},
		"a bare address":                 {"GitHub links it", "see https://b.example", "a link"},
		"an address in angle brackets":   {"CommonMark links it", "<https://b.example>", "a link"},
		"an image":                       {"it is loaded", "![a](https://b.example)", "an image"},
		"HTML":                           {"a reader may interpret it", "a <b>c</b>", "HTML"},
		"a block of HTML":                {"a reader may interpret it", "<script>\na\n</script>", "HTML"},
		"a heading":                      {"the text has structure", "# evil", "not in code"},
		"a cell of a table":              {"the text has structure", "| a |\n|---|\n| evil |", "not in code"},
		"a mention":                      {"a person is notified", "- @acme", "the mention"},
		"a fence that ends early":        {"the rest is no code", "```\na\n```\nevil", "not in code"},
		"a link of ours":                 {"its prefix is allowed", "[Run](<https://ours.example/a>)", ""},
		"code":                           {"it is data", "`evil @a <b>` and\n\n````\n```\n# evil\n````\n\n    evil", ""},
		"an address that begins alike":   {"the prefix ends with a slash", "https://ours.example.evil.example", "a link"},
		"a text that is only emphasized": {"it is not in code", "**evil**", "not in code"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(interpreted([]byte(tc.document), []string{"https://ours.example/"}), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestInputs(t *testing.T) {
	if n := len(Inputs()); n < 12 {
		t.Errorf("only %d texts", n)
	}
	for _, in := range Inputs() {
		if !strings.Contains(in.Text, Marker) {
			t.Errorf("%s has no marker, so that no test sees it", in.Name)
		}
	}
	if !slices.ContainsFunc(Inputs(), func(in Input) bool { return len(in.Text) >= 1<<20 }) {
		t.Error("no text has a mebibyte")
	}
}
