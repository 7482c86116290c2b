package failure_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/run/failure"
)

// TestExcerpt: what a failure says is nearer to its cause than the line in which a runner announces the test.
func TestExcerpt(t *testing.T) {
	filler := strings.Repeat("other output\n", 40)
	for name, tc := range map[string]struct {
		reason string
		sought []string
		log    string
		first  int
		has    string // a line of the excerpt
		found  bool
	}{
		"The name.": {"a failure without a message is found by the name of its test",
			[]string{"", "TestPays"}, filler + "--- FAIL: TestPays\n" + filler, 31, "--- FAIL: TestPays", true},
		"The message after the name.": {"a runner announces a test long before it fails",
			[]string{"expected 3, got 4", "TestPays"}, "=== RUN TestPays\n" + filler + "Error: expected 3, got 4\n" + filler, 32,
			"Error: expected 3, got 4", true},
		"Only the name, far from the end.": {"without the message, the line with the name tells most",
			[]string{"expected 3, got 4", "TestPays"}, "=== RUN TestPays\n" + filler, 1, "=== RUN TestPays", true},
		"A message of several lines.": {"reports join their lines, and logs do not",
			[]string{"Error: no answer; at pay.ts:3; at run.ts:9", "TestPays"}, filler + "Error: no answer\n  at pay.ts:3\n" + filler, 31,
			"Error: no answer", true},
		"A message that was cut.": {"its middle is missing, so its beginning is sought",
			[]string{"the server said … and closed", "TestPays"}, filler + "the server said a lot and closed\n", 31,
			"the server said a lot and closed", true},
		"Colors within.": {"runners color parts of a line",
			[]string{"expected 3, got 4", "TestPays"}, filler + "expected \x1b[32m3\x1b[0m, got \x1b[31m4\x1b[0m\n", 31, "expected 3, got 4", true},
		"Nothing.":   {"the last lines are the best guess", []string{"TestPays"}, filler, 11, "other output", false},
		"Too short.": {"a short text is anywhere", []string{"a", "out"}, filler, 11, "other output", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := failure.NewExcerpt(tc.sought...)
			for line := range strings.Lines(tc.log) {
				if !e.Add([]byte(line)) {
					break
				}
			}
			got := e.Of("pod", "test")
			if e.Found() != tc.found || got.FirstLine != tc.first || !slices.Contains(got.Lines, tc.has) || len(got.Lines) > 31 {
				t.Errorf("%s\nfound %v, from line %d of %s", tc.reason, e.Found(), got.FirstLine, strconv.Quote(strings.Join(got.Lines, "\n")))
			}
		})
	}
}
