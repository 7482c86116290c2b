package junit_test

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// TestAttempt: reports of the same tests are found by where tools put them, the last one last.
func TestAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		inOrder []string
		last    string
	}{
		"Microsoft.Testing.Platform": {[]string{"Retries/a1/1/report.xml", "Retries/a1/2/report.xml", "Retries/a1/10/report.xml", "report.xml"}, "report.xml"},
		"in a folder":                {[]string{"shop/Retries/a1/1/report.xml", "shop/report.xml"}, "shop/report.xml"},
		"Bazel":                      {[]string{"shop/cart/test_attempts/attempt_1.xml", "shop/cart/test_attempts/attempt_2.xml", "shop/cart/test.xml"}, "shop/cart/test.xml"},
		"Flank":                      {[]string{"shard_0/Pixel2/r.xml", "shard_0-rerun_1/Pixel2/r.xml", "shard_0-rerun_2/Pixel2/r.xml"}, "shard_0/Pixel2/r.xml"},
		"others":                     {[]string{"retries/1/report.xml"}, "retries/1/report.xml"},
		"a file of the name":         {[]string{"Retries/report.xml"}, "Retries/report.xml"},
	} {
		t.Run(name, func(t *testing.T) {
			var numbers []int
			for _, path := range tc.inOrder {
				attempt := junit.AttemptOf(path)
				if attempt.Last != tc.last {
					t.Errorf("%s belongs to %s", path, attempt.Last)
				}
				numbers = append(numbers, attempt.Number)
			}
			if !slices.IsSorted(numbers) {
				t.Errorf("their order is %v", numbers)
			}
		})
	}
}
