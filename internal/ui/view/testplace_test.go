package view_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/ui/view"
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
		"Nothing to look at": {"No name says nothing.", " › ", "FAIL ›\n", 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := view.TestPlaceOf(tc.test)
			for i, line := range strings.Split(tc.log, "\n") {
				p.Look(i+1, []byte(line))
			}
			if p.Line != tc.want || p.Text() != tc.text {
				t.Errorf("%s got line %d and %q, want %d and %q", tc.reason, p.Line, p.Text(), tc.want, tc.text)
			}
		})
	}
}
