package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func TestLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		max    int
		want   string
	}{
		"Plain":       {"Text stays as it is.", "GET /cart: 500 – «größer» 日本 ✗ 🚀", 1024, "GET /cart: 500 – «größer» 日本 ✗ 🚀"},
		"Lines":       {"A sentence has one line.", "\n a \r\n\n b\u2028c\vd\n", 1024, "a; b; c; d"},
		"Spaces":      {"Columns of a table become words.", "a\t\tb  c\u00a0d", 1024, "a b c d"},
		"Colours":     {"A terminal's colours are no text.", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mblue", 1024, "red blue"},
		"C1":          {"There is another way to write them.", "\u009b31mred\u009d0;title\u009c", 1024, "red"},
		"Title":       {"A test cannot set the title of the reader's terminal.", "a\x1b]0;owned\x07b\x1b]8;;http://x\x1b\\c", 1024, "abc"},
		"Unfinished":  {"A code that never ends cannot hide what follows.", "a\x1b]0;b\nc\x1b[", 1024, "a0;b; c"},
		"Invisible":   {"Marks that turn or hide text are gone.", "a\u202eb\u200bc\ufeffd\x00e\x08f", 1024, "abcdef"},
		"InvalidUTF8": {"The API server refuses what is not UTF-8.", "a\xff\xfeb", 1024, "a\uFFFDb"},
		"Clipped":     {"The start and the end of a long text are kept.", strings.Repeat("a", 50) + strings.Repeat("b", 50), 25, "aaaaaaaaaa … bbbbbbbbbb"},
		"ClippedRune": {"No character is cut in two.", strings.Repeat("é", 50), 20, "ééé … ééé"},
		"Short":       {"A limit without room for two ends keeps the start.", "abcdefgh", 6, "abcdef"},
		"Shorter":     {"A limit shorter than the gap is kept, too.", "abé", 3, "ab"},
		"Nothing":     {"A limit of zero leaves nothing.", "a", 0, ""},
		"Empty":       {"Nothing to see is nothing to say.", "\x1b[0m\n\u200b \n", 1024, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := plaintext.Line(tc.text, tc.max); got != tc.want {
				t.Errorf("%s\nplaintext.Line(%q): want %q, got %q", tc.reason, tc.text, tc.want, got)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		max    int
		want   string
		cut    bool
	}{
		"Code":        {"Lines keep their indentation, and empty ones stay.", "\n  a\n\n\tb  \n> c\n\n", 99, "  a\n\n\tb\n> c", false},
		"Line ends":   {"There are many.", "a\r\nb\rc\u2028d\ve", 99, "a\nb\nc\nd\ne", false},
		"Colours":     {"Playwright writes them into reports.", "\x1b[31mExpected\x1b[39m: \u009b1m1\x1b]0;t\x07\x1b", 99, "Expected: 1", false},
		"Invisible":   {"Nothing turns or hides text.", "a\u202eb\u200bc\x00d\x08e\u00a0f", 99, "abcde f", false},
		"InvalidUTF8": {"The API server refuses what is not UTF-8.", "a\xff\xfeb", 99, "a\uFFFDb", false},
		"As long":     {"Nothing is missing.", "abc\n", 3, "abc", false},
		"Longer":      {"The start is kept.", "abcd", 3, "abc", true},
		"Rune":        {"No character is cut in two.", "ab日", 4, "ab", true},
		"Nothing":     {"There is nothing to see.", "\x1b[0m\n \n", 99, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, cut := plaintext.Block(tc.text, tc.max); got != tc.want || cut != tc.cut {
				t.Errorf("%s\nplaintext.Block(%q): want %q, cut %v; got %q, %v", tc.reason, tc.text, tc.want, tc.cut, got, cut)
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{
		"", "a b", " a", "a ", "a  b", "größe › 日本", "a\u00a0b", "a\nb", "\x1b[31mred", "\x1b]0;t\x07", "\x9b1m", "\u202e", "\xff",
		strings.Repeat("é\n", 99), strings.Repeat("日本 ", 99) + ".",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, max := range []int{0, 1, 4, 5, 6, 64} {
			got := plaintext.Line(text, max)
			unfit := func(r rune) bool { return !unicode.IsPrint(r) }
			if len(got) > max || !utf8.ValidString(got) || strings.ContainsFunc(got, unfit) {
				t.Errorf("plaintext.Line(%q, %d) = %q, of %d bytes", text, max, got, len(got))
			}
			unfit = func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
			if got, _ := plaintext.Block(text, max); len(got) > max || !utf8.ValidString(got) || strings.ContainsFunc(got, unfit) {
				t.Errorf("plaintext.Block(%q, %d) = %q, of %d bytes", text, max, got, len(got))
			}
			if strings.ContainsAny(text, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
				return
			}
			// A code at the end is removed, but lets no text take the short way of plain text.
			if want := plaintext.Line(text+"\x1b[m", max); got != want {
				t.Errorf("plaintext.Line(%q, %d) = %q, want %q", text, max, got, want)
			}
			got, cut := plaintext.Block(text, max)
			if want, wantCut := plaintext.Block(text+"\x1b[m", max); got != want || cut != wantCut {
				t.Errorf("plaintext.Block(%q, %d) = %q, %v, want %q, %v", text, max, got, cut, want, wantCut)
			}
		}
	})
}
