package plaintext_test

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func TestCopyToTerminal(t *testing.T) {
	const reset = "\x1b[0m"
	cases := map[string]struct{ log, want string }{
		"plain text":                    {"GET /cart: 500 – «größer» 日本 ✗ 🚀\n\tat x\r\n", "GET /cart: 500 – «größer» 日本 ✗ 🚀\n\tat x\r\n"},
		"a progress bar":                {"10 %\r20 %\n", "10 %\r20 %\n"},
		"colours":                       {"\x1b[1;31mred\x1b[m \x1b[38:2::1:2:3mblue\n", "\x1b[1;31mred\x1b[m \x1b[38:2::1:2:3mblue\n" + reset},
		"a colour that stays":           {"\x1b[31mred", "\x1b[31mred" + reset},
		"cursor and screen":             {"a\x1b[2J\x1b[1;1Hb\x1b[5Ac\x1b[?1049hd\x1b[6ne", "abcde"},
		"a report as if it were typed":  {"a\x1b[>0q\x1b[c\x1bZ\x05b", "ab"},
		"a title":                       {"a\x1b]0;owned\x07b\x1b]2;owned\x1b\\c", "abc"},
		"a link and the clipboard":      {"a\x1b]8;;http://x\x1b\\b\x1b]52;c;ZWNobw==\x07c", "abc"},
		"other strings":                 {"a\x1bPq\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e", "abcde"},
		"the short forms of C1":         {"a\u009b31mred\u009b2J\u009d0;owned\u009c\u0090x\u009cb", "a\x1b[31mredb" + reset},
		"the raw bytes of C1":           {"a\x9b2Jb", "a\uFFFD2Jb"},
		"a string without an end":       {"a\x1b]0;b\nc\x1b]", "a\nc"},
		"a code without an end":         {"a\x1b[31\nb\x1b[", "a\nb"},
		"a code in a code":              {"a\x1b[3\x1b[2Jb\x1b\x1b[31mc", "ab\x1b[31mc" + reset},
		"a code that hides another":     {"a\x1b\x1b]0;x\x07[2Jb", "a[2Jb"},
		"character sets and resets":     {"a\x1b(0b\x1bcc\x1b#8d\x1b%Ge", "abcde"},
		"private and odd parameters":    {"a\x1b[?1mb\x1b[>4;2mc\x1b[1 md\x1b[é", "abcdé"},
		"a code that is much too long":  {"a\x1b[" + strings.Repeat("1;", 1000) + "mb", "ab"},
		"bells, backspaces and deletes": {"a\a\b\b\x7f\x00\v\fb", "ab"},
		"marks that turn text around":   {"a\u202eb\u2066c", "abc"},
		"nothing":                       {"", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for reader, log := range map[string]io.Reader{
				"at once": strings.NewReader(tc.log), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.log)),
			} {
				var got bytes.Buffer
				if err := plaintext.CopyToTerminal(&got, log); err != nil || got.String() != tc.want {
					t.Errorf("%s: %q, %v, want %q", reader, got.String(), err, tc.want)
				}
			}
		})
	}
}

// TestCopyToTerminalAtOnce: a log that is followed does not wait for more.
func TestCopyToTerminalAtOnce(t *testing.T) {
	log, writer := io.Pipe()
	terminal, shown := io.Pipe()
	go func() { _ = shown.CloseWithError(plaintext.CopyToTerminal(shown, log)) }()
	for _, line := range []string{"a\n", "bcdefgh", "…"} {
		go func() { _, _ = io.WriteString(writer, line) }()
		got := make([]byte, len(line))
		if _, err := io.ReadFull(terminal, got); err != nil || string(got) != line {
			t.Fatalf("%q, %v, want %q", got, err, line)
		}
	}
	broken := errors.New("broken")
	_ = writer.CloseWithError(broken)
	if _, err := io.ReadAll(terminal); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of the log", err)
	}
}

var colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

func FuzzCopyToTerminal(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\x1b[31mred", "\x1b]0;t\x07", "\x9b1m", "\u009b2J", "\x1b[\x1b[2J", "\u202e", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got bytes.Buffer
		if err := plaintext.CopyToTerminal(&got, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		rest := colours.ReplaceAllString(got.String(), "")
		if strings.ContainsFunc(rest, func(r rune) bool {
			return r < ' ' && !strings.ContainsRune("\n\r\t", r) || '\x7f' <= r && r <= '\u009f'
		}) {
			t.Errorf("%q became %q", text, got.String())
		}
	})
}
