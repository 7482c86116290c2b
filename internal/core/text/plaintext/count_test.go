package plaintext_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func TestCountAndAlternatives(t *testing.T) {
	for n, want := range map[int]string{0: "0 tests", 1: "1 test", 2: "2 tests"} {
		if got := plaintext.Count(n, "test"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for words, want := range map[string]string{"": "", "a": "a", "a b": "a or b", "a b c": "a, b or c"} {
		if got := plaintext.Alternatives(strings.Fields(words)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := plaintext.All(strings.Fields(words)), strings.ReplaceAll(want, " or ", " and "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for want, shares := range map[string][][2]int{
		"–": {{0, 0}}, "0%": {{0, 7}}, "100%": {{7, 7}}, "67%": {{4, 6}}, "33%": {{2, 6}}, "13%": {{1, 8}}, "63%": {{5, 8}}, "50%": {{1, 2}},
		"0.5%": {{1, 200}}, "0.1%": {{1, 10000}}, "99.9%": {{9999, 10000}, {999, 1000}}, "99.5%": {{199, 200}},
	} {
		for _, s := range shares {
			if got := plaintext.Percent(s[0], s[1]); got != want {
				t.Errorf("%d of %d: %s, want %s", s[0], s[1], got, want)
			}
		}
	}
}
