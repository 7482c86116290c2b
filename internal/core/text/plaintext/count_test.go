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
	}
}
