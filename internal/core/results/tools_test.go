package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/results"
)

// read is the tests of a report in testdata.
func read(t *testing.T, name string) *results.Tests {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tests := &results.Tests{}
	if !tests.Add(name, file) {
		t.Fatalf("%s is not taken for a report", name)
	}
	return tests
}

// TestTools reads the reports that tools wrote; testdata/README.md names their versions.
func TestTools(t *testing.T) {
	for name, tc := range map[string]struct {
		passed, failed, skipped, flaky int32
		failures                       []string // name | file:line | message
	}{
		"playwright": {5, 5, 2, 0, []string{
			"checkout.spec.js > checkout › pays with card | checkout.spec.js:4 | expect(received).toEqual(expected) // deep equality",
			"checkout.spec.js > checkout › breaks | checkout.spec.js:6 | no database",
			"checkout.spec.js > times out | checkout.spec.js:9 | Test timeout of 50ms exceeded.",
			"checkout.spec.js > checkout › pays with card (2) | checkout.spec.js:4 | expect(received).toEqual(expected) // deep equality",
			"checkout.spec.js > checkout › breaks (2) | checkout.spec.js:6 | no database",
		}},
		"playwright-retries": {5, 5, 2, 2, []string{
			"checkout.spec.js > checkout › pays with card | checkout.spec.js:4 | expect(received).toEqual(expected) // deep equality",
			"checkout.spec.js > checkout › breaks | checkout.spec.js:6 | no database",
			"checkout.spec.js > times out | checkout.spec.js:9 | Test timeout of 50ms exceeded.",
			"checkout.spec.js > checkout › pays with card (2) | checkout.spec.js:4 | expect(received).toEqual(expected) // deep equality",
			"checkout.spec.js > checkout › breaks (2) | checkout.spec.js:6 | no database",
		}},
		"playwright-visible": {1, 3, 0, 0, []string{
			"checkout.spec.ts > checkout › pays with card | checkout.spec.ts:11 | Error: expect(locator).toBeVisible() failed",
			"checkout.spec.ts > checkout › shows the total | checkout.spec.ts:21 | Error: expect(locator).toBeVisible() failed",
			"checkout.spec.ts > checkout › says thanks | checkout.spec.ts:31 | Error: expect(locator).toBeVisible() failed",
		}},
		"jest": {3, 2, 1, 0, []string{
			"cart pays with card | :0 | Error: expect(received).toEqual(expected) // deep equality",
			"cart same title (2) | :0 | Error: expect(received).toBe(expected) // Object.is equality",
		}},
		"jest-suite-errors": {3, 4, 1, 0, []string{
			"cart pays with card | cart.test.js:0 | Error: expect(received).toEqual(expected) // deep equality",
			"cart same title (2) | cart.test.js:0 | Error: expect(received).toBe(expected) // Object.is equality",
			"Test suite failed to run > broken.test.js | broken.test.js:0 | ● Test suite failed to run",
			"Test suite failed to run > broken.test.js (2) | broken.test.js:0 | " +
				`{"code":"MODULE_NOT_FOUND","hint":"","requireStack":["/src/broken.test.js"],"siblingWithSimilarExtensionFound":false,` +
				`"moduleName":"./missing","_originalMessage":"Cannot find module './missing' from 'broken.test.js'"}`,
		}},
		"mocha": {1, 2, 0, 0, []string{
			"cart pays with card | /src/cart.js:0 | Expected values to be loosely deep-equal:",
			`cart broken "before each" hook for "x" | /src/cart.js:0 | no [31mdatabase`,
		}},
		"vitest": {2, 1, 1, 0, []string{
			"cart.test.mjs > cart > pays with card | cart.test.mjs:4 | expected { status: 500 } to deeply equal { status: 200 }",
		}},
		"node": {2, 1, 2, 0, []string{
			"cart > pays | :0 | Expected values to be loosely deep-equal:{ status: 500}should loosely deep-equal{ status: 200}",
		}},
		"pytest": {3, 4, 2, 0, []string{
			"test_cart > test_pays_with_card | test_cart.py:5 | AssertionError: the shop answers",
			"test_cart > test_twice[2] | test_cart.py:7 | assert 2 == 1",
			`test_cart > test_needs | test_cart.py:11 | failed on setup with "RuntimeError: no database"`,
			`test_cart > test_cleans | test_cart.py:16 | failed on teardown with "RuntimeError: cleaning failed"`,
		}},
		"pytest-xunit1": {3, 4, 2, 0, []string{
			"test_cart > test_pays_with_card | test_cart.py:5 | AssertionError: the shop answers",
			"test_cart > test_twice[2] | test_cart.py:7 | assert 2 == 1",
			`test_cart > test_needs | test_cart.py:11 | failed on setup with "RuntimeError: no database"`,
			`test_cart > test_cleans | test_cart.py:16 | failed on teardown with "RuntimeError: cleaning failed"`,
		}},
		"surefire": {2, 2, 1, 1, []string{
			"shop.CartTest > paysWithCard | :0 | the shop answers expected:<200> but was:<500>",
			"shop.CartTest > breaks | :0 | no database",
		}},
		"surefire-junit5": {2, 4, 1, 0, []string{
			"shop.CartTest > paysWithCard | :0 | the shop answers ==> expected: <200> but was: <500>",
			"shop.CartTest > breaks | :0 | no database",
			"shop.CartTest > recovers | :0 | first time",
			"shop.CartTest > twice{int}[2] | :0 | expected: <1> but was: <2>",
		}},
		"gradle": {2, 1, 1, 1, []string{
			"shop.CartTest > paysWithCard() | :0 | org.opentest4j.AssertionFailedError: expected: <200> but was: <500>",
		}},
		"dotnet": {1, 1, 1, 0, []string{
			`Shop.Tests.CartTest > PaysWithCard(method: "card") | :0 | Assert.Equal() Failure: Values differ`,
		}},
		"go-junit-report": {2, 4, 1, 0, []string{
			"example.com/cart > TestPays | :0 | Failed",
			"example.com/cart > TestPays/with_card | cart_test.go:4 | cart_test.go:4: a line",
			"example.com/cart > TestRecovers | cart_test.go:6 | cart_test.go:6: the first time",
			"example.com/cart/broken > [build failed] | broken/x_test.go:3 | Build error",
		}},
		"gotestsum": {3, 7, 1, 0, []string{
			"example.com/cart > TestPays/with_card | cart_test.go:4 | cart_test.go:4: a line",
			"example.com/cart > TestPays | :0 | Failed",
			"example.com/cart > TestRecovers | cart_test.go:6 | cart_test.go:6: the first time",
			"example.com/cart > TestPays/with_card (2) | cart_test.go:4 | cart_test.go:4: a line",
			"example.com/cart > TestPays (2) | :0 | Failed",
			"example.com/cart > TestPays/with_card (3) | cart_test.go:4 | cart_test.go:4: a line",
			"example.com/cart > TestPays (3) | :0 | Failed",
		}},
		"phpunit": {2, 3, 1, 0, []string{
			"CartTest > testPaysWithCard | /src/CartTest.php:5 | the shop answers",
			`CartTest > testTwice with data set "two" | /src/CartTest.php:7 | Failed asserting that 2 is identical to 1.`,
			"CartTest > testBreaks | /src/CartTest.php:10 | RuntimeException: no database",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tests := read(t, name+".xml")
			want := results.Counts{Reports: 1, Tests: tc.passed + tc.failed + tc.skipped, Passed: tc.passed, Failed: tc.failed,
				Skipped: tc.skipped, Flaky: tc.flaky, Milliseconds: tests.Counts.Milliseconds}
			if diff := cmp.Diff(want, tests.Counts); diff != "" || tests.Problems != nil || tests.Counts.Milliseconds == 0 {
				t.Errorf("%s\nproblems %q, %d ms", diff, tests.Problems, tests.Counts.Milliseconds)
			}
			var failures []string
			for _, f := range tests.Failures {
				failures = append(failures, fmt.Sprintf("%s | %s:%d | %s", f.Name, f.File, f.Line, f.Message))
			}
			if diff := cmp.Diff(tc.failures, failures); diff != "" {
				t.Error(diff)
			}
		})
	}
}
