package logtext_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestTestPlace(t *testing.T) {
	cases := map[string]struct {
		reason string
		test   string
		log    string
		want   int
		text   string
	}{
		"Playwright":         {"The line with the cross, not the title of the error.", "checkout › pays with a saved card", "Running 2 tests\n  \x1b[32m✓\x1b[0m 1 a.spec.ts:3 › checkout › pays\n  \x1b[31m✘\x1b[0m  2 checkout.spec.ts:31 › checkout › pays with a saved card (12s)\n  1) checkout.spec.ts:31 › checkout › pays with a saved card\n", 3, "pays with a saved card"},
		"Go":                 {"The run of a test is not its failure.", "shop/cart.TestPays", "=== RUN   TestPays\n=== RUN   TestPaysLater\n--- FAIL: TestPaysLater (0.00s)\n--- FAIL: TestPays (0.00s)\n", 4, "TestPays"},
		"JUnit":              {"Classes come before methods.", "com.example.CartTest.pays", "[INFO] Running com.example.CartTest\n[ERROR] com.example.CartTest.pays -- Time elapsed: 0.1 s <<< FAILURE!\n", 2, "pays"},
		"pytest":             {"Colons separate.", "tests/test_cart.py::test_pays", "tests/test_cart.py::test_pays FAILED\n", 1, "test_pays"},
		"The one of many":    {"More of the name is better.", "cart › keeps items", "✘ wishlist › keeps items\n✘ cart › keeps items\n", 2, "keeps items"},
		"Numbered":           {"The number is not the tool's.", "cart > adds (2)", "FAIL cart > adds\n", 1, "adds"},
		"No failure":         {"The name is better than nothing.", "cart > adds one", "adds one\n", 1, "adds one"},
		"Part of a word":     {"Another test is no place.", "cart > adds", "FAIL addsMore and madds\n", 0, "adds"},
		"Not there":          {"There is no place.", "cart > adds", "all is well\n", 0, "adds"},
		"Very long":          {"The end of it says most.", strings.Repeat("suite › ", 1000) + "adds one", "suite › other\nadds one\n", 2, "adds one"},
		"Nothing to look at": {"No name says nothing.", " › ", "FAIL ›\n", 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := logtext.TestPlaceOf(tc.test)
			for i, line := range strings.Split(tc.log, "\n") {
				p.Look(i+1, []byte(line))
			}
			if p.Line != tc.want || p.Text() != tc.text {
				t.Errorf("%s got line %d and %q, want %d and %q", tc.reason, p.Line, p.Text(), tc.want, tc.text)
			}
		})
	}
}

// TestLongNamesOfTests: what a line costs does not grow with the name, which anybody can make long.
func TestLongNamesOfTests(t *testing.T) {
	tier.All(t, "it compares times")
	line := []byte(strings.Repeat("a", 60000) + " last FAILED")
	look := func(name string) time.Duration {
		began := time.Now()
		p := logtext.TestPlaceOf(name)
		for n := range 10 {
			p.Look(n+1, line)
		}
		if p.Line != 1 {
			t.Errorf("the test %.20s... is in line %d, want 1", name, p.Line)
		}
		return time.Since(began)
	}
	few := look(strings.Repeat("aab.", 15) + "last")
	tier.AtMost(t, "a name of 2,501 parts", 3*few, func() time.Duration { return look(strings.Repeat("aab.", 2500) + "last") })
}
