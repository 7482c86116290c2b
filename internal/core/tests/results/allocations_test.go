package results_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestAllocationsOfATest: a run may have 200,000 tests, and their collector little memory and time. Measured times differ from machine to
// machine, allocations do not: something done twice for each test, or with an expression, shows here.
func TestAllocationsOfATest(t *testing.T) {
	const tests = 20_000
	for name, tc := range map[string]struct {
		reason, test             string // with its number
		maxAllocations, maxBytes float64
	}{
		"passed": {"Its three attributes are copied, and its name, suite and file.",
			`<testcase classname="tests/checkout.spec.ts" name="checkout > pays with card %d" time="0.125"/>`, 10, 1000},
		"in another alphabet": {"Most languages need more than ASCII.",
			`<testcase classname="tests/支払い.spec.ts" name="支払い › カード %d" time="0.125"/>`, 10, 1000},
		"with output": {"Its output is read, and most of it is dropped.",
			`<testcase classname="shop.CartTest" name="pays %d" time="1"><system-out><![CDATA[a line of output]]></system-out></testcase>`, 9, 900},
	} {
		t.Run(name, func(t *testing.T) {
			var report strings.Builder
			report.WriteString(`<testsuites><testsuite name="s">`)
			for i := range tests {
				fmt.Fprintf(&report, tc.test, i)
			}
			report.WriteString(`</testsuite></testsuites>`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read := &results.Tests{}
			read.Add("junit.xml", strings.NewReader(report.String()))
			runtime.ReadMemStats(&after)
			if read.Counts.Passed != tests {
				t.Fatalf("%+v", read.Counts)
			}
			allocations, bytes := float64(after.Mallocs-before.Mallocs)/tests, float64(after.TotalAlloc-before.TotalAlloc)/tests
			if allocations > tc.maxAllocations || bytes > tc.maxBytes {
				t.Errorf("%s\nA test takes %.1f allocations with %.0f bytes, and may take %.0f with %.0f", tc.reason, allocations, bytes,
					tc.maxAllocations, tc.maxBytes)
			}
		})
	}
}
