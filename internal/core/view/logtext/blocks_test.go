package logtext_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestSpans(t *testing.T) {
	cases := map[string]struct {
		line string
		want []logtext.Span
	}{
		"Plain":         {"GET /cart: 500 «größer» 日本\n", []logtext.Span{{Class: "", Text: "GET /cart: 500 «größer» 日本"}}},
		"Colour":        {"\x1b[32m✓\x1b[0m ok", []logtext.Span{{Class: "t-2", Text: "✓"}, {Class: "", Text: " ok"}}},
		"Empty reset":   {"\x1b[1mbold\x1b[m plain", []logtext.Span{{Class: "t-bold", Text: "bold"}, {Class: "", Text: " plain"}}},
		"Several":       {"\x1b[1;3;4;91;44mall\x1b[22;23;24;39;49m none", []logtext.Span{{Class: "t-9 t-on-4 t-bold t-italic t-underline", Text: "all"}, {Class: "", Text: " none"}}},
		"256 colours":   {"\x1b[38;5;196mred\x1b[38;5;240mgrey", []logtext.Span{{Class: "t-9", Text: "red"}, {Class: "t-8", Text: "grey"}}},
		"True colour":   {"\x1b[38;2;30;200;40;1mgreen", []logtext.Span{{Class: "t-10 t-bold", Text: "green"}}},
		"Progress bar":  {"10%\r50%\r100%\n", []logtext.Span{{Class: "", Text: "100%"}}},
		"Windows":       {"line\r\n", []logtext.Span{{Class: "", Text: "line"}}},
		"Cursor":        {"a\x1b[2Kb\x1b[1;1Hc", []logtext.Span{{Class: "", Text: "a"}, {Class: "", Text: "b"}, {Class: "", Text: "c"}}},
		"Title":         {"a\x1b]0;owned\x07b\x1b]8;;http://x\x1b\\c", []logtext.Span{{Class: "", Text: "a"}, {Class: "", Text: "b"}, {Class: "", Text: "c"}}},
		"Invisible":     {"a\u202eb\x00c\x08\x7f", []logtext.Span{{Class: "", Text: "abc"}}},
		"Invalid UTF-8": {"a\xff\xfeb", []logtext.Span{{Class: "", Text: "ab"}}},
		"Title cut off": {"a\x1b]0;owned\x1b[31mb", []logtext.Span{{Class: "", Text: "a"}, {Class: "t-1", Text: "b"}}},
		"Unfinished":    {"a\x1b[31", []logtext.Span{{Class: "", Text: "a"}}},
		"Huge number":   {"\x1b[99999999999999999999mx", []logtext.Span{{Class: "", Text: "x"}}},
		"Tab":           {"a\tb", []logtext.Span{{Class: "", Text: "a\tb"}}},
		"Markup":        {"<script>", []logtext.Span{{Class: "", Text: "<script>"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, logtext.Spans([]byte(tc.line))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	spans := logtext.Spans([]byte(strings.Repeat("x", 1<<20)))
	if len(spans) != 2 || len(spans[0].Text) != 4096 || spans[1].Text != " … 1020 KiB more" {
		t.Errorf("%d spans, of %d bytes and %q", len(spans), len(spans[0].Text), spans[1].Text)
	}
}

// TestHostileLines: no line takes much longer, or much more memory, than its length.
func TestHostileLines(t *testing.T) {
	spans := logtext.Spans([]byte(strings.Repeat("\x1b[31mx\x1b[1;4;44my", 200)))
	text := ""
	for _, s := range spans {
		text += s.Text
	}
	if len(spans) > 64 || text != strings.Repeat("xy", 200) {
		t.Errorf("%d spans of %q", len(spans), text)
	}
	titles, words := strings.Repeat("\x1b]\x1b\\", 2<<20)+"end", strings.Repeat("word", 2<<20)
	began := time.Now()
	if got := logtext.PlainText([]byte(titles)); got != "end" {
		t.Errorf("%d bytes are left", len(got))
	}
	took := time.Since(began)
	began = time.Now()
	if got := logtext.PlainText([]byte(words)); got != words {
		t.Errorf("%d bytes are left of words", len(got))
	}
	// It took minutes as long as each title looked for its end in the whole line, which would end the gate, too.
	if raw := time.Since(began); took > 100*raw && !tier.Gate() {
		t.Errorf("8 MiB took %s, and words of this length %s", took, raw)
	}
}

func FuzzSpans(f *testing.F) {
	for _, line := range []string{"", "\x1b[31mred", "\x1b]0;t\x07", "\x1b[38;2;1;2", "\u202e", "\xff", "\x1b", "a\rb"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, s := range logtext.Spans([]byte(line)) {
			if !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\x1b\x00\r\n\u202e") {
				t.Errorf("%q shows %q", line, s.Text)
			}
			if strings.Trim(s.Class, "t-onbldimaerc0123456789 u") != "" {
				t.Errorf("%q has the class %q", line, s.Class)
			}
		}
	})
}

func TestBlocks(t *testing.T) {
	cases := map[string]struct {
		lines []string
		want  string
	}{
		"GitHub":     {[]string{"a", "::group::Install", "b", "::endgroup::", "c"}, "1 | 2 Install closed [3] | 5"},
		"Buildkite":  {[]string{"##[group]Build", "a", "##[endgroup]"}, "1 Build closed [2]"},
		"GitLab":     {[]string{"section_start:1560896352:deps[collapsed=true]\r\x1b[0KInstall deps", "a", "section_end:1560896353:deps\r\x1b[0K", "b"}, "1 Install deps closed [2] | 4"},
		"Unfinished": {[]string{"::group::Tests", "a"}, "1 Tests open [2]"},
		"With error": {[]string{"::group::Tests", "Error: no", "::endgroup::"}, "1 Tests open error [2]"},
		"Two in one": {[]string{"::group::A", "a", "::group::B", "b", "::endgroup::"}, "1 A open [2] | 3 B closed [4]"},
		"Only end":   {[]string{"::endgroup::", "a"}, "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var lines [][]byte
			for _, l := range tc.lines {
				lines = append(lines, []byte(l))
			}
			var got []string
			for _, b := range logtext.Blocks(1, lines) {
				got = append(got, describe(b))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " | ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func describe(b logtext.Block) string {
	if !b.Group {
		return fmt.Sprint(b.Number)
	}
	text := fmt.Sprint(b.Number, " ", b.Spans[0].Text, " closed")
	if b.Open {
		text = strings.Replace(text, "closed", "open", 1)
	}
	if b.Errors {
		text += " error"
	}
	var numbers []int
	for _, l := range b.Lines {
		numbers = append(numbers, l.Number)
	}
	return fmt.Sprint(text, " ", numbers)
}

func TestMark(t *testing.T) {
	cases := map[string]struct {
		line, search, want string
		found              bool
	}{
		"In colour":  {"\x1b[31mError:\x1b[0m No", "error: no", "|Error: No|", true},
		"In between": {"a Needle b", "needle", "a |Needle| b", true},
		"Not there":  {"hay", "needle", "", false},
	}
	for name, tc := range cases {
		before, match, after, found := logtext.Mark([]byte(tc.line), tc.search)
		if got := before + "|" + match + "|" + after; found != tc.found || found && got != tc.want {
			t.Errorf("%s: got %q, %v", name, got, found)
		}
	}
}
