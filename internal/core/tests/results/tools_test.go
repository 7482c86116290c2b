package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
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
		// The comments below are what the tools printed: the numbers are theirs.
		"jest-retries": {3, 4, 1, 0, []string{ // Tests: 4 failed, 1 skipped, 3 passed, 8 total
			"cart pays with card | :0 | Error: expect(received).toEqual(expected) // deep equality",
			"cart breaks | :0 | Error: no database",
			"cart sells Käse | :0 | Error: expect(received).toBe(expected) // Object.is equality",
			"cart broken needs the shop | :0 | Error: no shop",
		}},
		"vitest-retries": {3, 4, 3, 0, []string{ // Failed Suites 1; Tests 3 failed | 3 passed | 2 skipped | 1 todo (9)
			"cart.test.mjs > cart > pays with card | cart.test.mjs:6 | expected { status: 500 } to deeply equal { status: 200 }",
			"cart.test.mjs > cart > breaks | cart.test.mjs:7 | no database",
			"cart.test.mjs > cart > sells Käse | cart.test.mjs:8 | expected 'Käse' to be 'tea' // Object.is equality",
			"cart.test.mjs > broken | cart.test.mjs:12 | no shop",
		}},
		"mocha-retries": {3, 3, 2, 0, []string{ // 3 passing, 2 pending, 3 failing
			"cart pays with card | /src/cart.js:0 | the shop answers",
			"cart breaks | /src/cart.js:0 | no database",
			`broken "before all" hook for "needs the shop" | /src/cart.js:0 | no shop`,
		}},
		"mocha-xunit": {3, 3, 2, 0, []string{ // 3 passing, 2 pending, 3 failing
			"cart > pays with card | /src/cart.js:0 | the shop answers",
			"cart > breaks | /src/cart.js:0 | no database",
			`broken > "before all" hook for "needs the shop" | /src/cart.js:0 | no shop`,
		}},
		"cucumber-js": {3, 4, 1, 0, []string{ // 8 scenarios (3 failed, 1 undefined, 1 skipped, 3 passed)
			"Cart > pays with card | :0 | 500 == 200",
			"Cart > breaks | :0 | no database",
			"Cart > is not written yet | :0 | ",
			"Cart > sells <thing> - #1.2: sells Käse | :0 | 'Käse' == 'tea'",
		}},
		"jasmine": {3, 4, 2, 0, []string{ // 9 specs, 5 failures (the fifth is that of beforeAll, which the report lacks), 2 pending specs
			"broken > needs the shop | :0 | Not run because a beforeAll function failed. The beforeAll failure will be reported on the suite that caused it.",
			"cart > fails twice | :0 | Expected 1 to be 2.",
			"cart > breaks | :0 | Error: no database",
			"cart > pays with card | :0 | the shop answers: Expected 500 to be 200.",
		}},
		"karma": {3, 4, 2, 0, []string{ // Executed 6 of 8 (3 FAILED) (skipped 2) ERROR
			"cart pays with card | :0 | the shop answers: Expected 500 to be 200.",
			"cart breaks | :0 | Error: no database",
			"broken needs the shop | :0 | Not run because a beforeAll function failed. The beforeAll failure will be reported on the suite that caused it.",
			"WebKit 537.36 (linux 0.0.0) | :0 | The report announces a failure that it does not list.",
		}},
		"newman": {3, 4, 0, 0, []string{ // assertions: 5 executed, 2 failed; of 4 numbered failures, the other two are of a script and of a request
			"CartPaysWithCard > answers 200 | :0 | expected response to have status code 200 but got 500",
			"Cart / breaks | :0 | The report announces a failure that it does not list.",
			"IsNotThere > answers 200 | :0 | expected PostmanResponse{ …(5) } to have property 'code'",
			"is not there | :0 | The report announces a failure that it does not list.",
		}},
		"bruno": {2, 4, 0, 0, []string{ // Tests 1/2, Assertions 1/2, a test script error, a request that found no server
			"adds > res.body.items eq 2 | adds.bru:0 | expected 1 to equal 2",
			"pays > answers 200 | pays.bru:0 | expected 500 to equal 200",
			"missing > Test suite has no errors | missing.bru:0 | connect ECONNREFUSED 127.0.0.1:8098",
			"breaks > Test Script Error | breaks.bru:0 | no database",
		}},
		"deno": {2, 3, 2, 0, []string{ // 1 passed (1 step) | 2 failed (1 step) | 1 ignored (1 step)
			"./cart_test.js > pays with card | :0 | Uncaught Error: the shop answers 500",
			"./cart_test.js > for guests | :0 | 1 test step failed",
			"./cart_test.js > for guests > sells Käse | :0 | Uncaught Error: no Käse",
		}},
		"bun": {4, 4, 2, 0, []string{ // 4 pass, 1 skip, 1 todo, 4 fail
			"cart > pays with card | cart.test.js:6 | expect(received).toEqual(expected)",
			"cart > breaks | cart.test.js:7 | no database",
			"cart > sells Käse | cart.test.js:8 | expect(received).toBe(expected)",
			"broken > (unnamed) | cart.test.js:0 | no shop",
		}},
		"pytest-rerunfailures": {3, 4, 1, 0, []string{ // 3 failed, 3 passed, 1 skipped, 1 error, 5 rerun
			"test_cart > test_pays_with_card | test_cart.py:8 | AssertionError: the shop answers",
			"test_cart > test_breaks | test_cart.py:9 | RuntimeError: no database",
			`test_cart > test_sells[K\xe4se] | test_cart.py:11 | AssertionError: assert 'Käse' == 'tea'`,
			`test_cart > test_needs_the_shop | test_cart.py:15 | failed on setup with "RuntimeError: no shop"`,
		}},
		"behave": {2, 4, 1, 0, []string{ // 2 scenarios passed, 4 failed, 1 skipped
			"cart.Cart > pays with card | :0 | the shop answers",
			"cart.Cart > breaks | :0 | no database",
			"cart.Cart > is not written yet | :0 | None",
			"cart.Cart > sells Käse -- @1.2 | :0 | Käse",
		}},
		"nose2": {2, 5, 2, 0, []string{ // Ran 8 tests: failures=3, errors=2 (one of setUpClass, which is no test), skipped=1, expected failures=1
			"setUpClass (test_cart > Broken) | :0 | test failure",
			"test_cart.Cart > test_breaks | :0 | test failure",
			"test_cart.Cart > test_holds (n=1) | :0 | test failure",
			"test_cart.Cart > test_pays_with_card | :0 | test failure",
			"test_cart.Cart > test_sells:2 | :0 | test failure",
		}},
		"xmlrunner": {1, 4, 2, 0, []string{ // Ran 6 tests: failures=2, errors=2 (one of setUpClass, which is no test), skipped=1, expected failures=1
			"test_cart.Cart > test_holds (n=1) | test_cart.py:10 | 1 == 1",
			"test_cart.Cart > test_pays_with_card | test_cart.py:4 | 500 != 200 : the shop answers",
			"test_cart.Cart > test_breaks | test_cart.py:5 | no database",
			"unittest.suite._ErrorHolder-20261128074214 > setUpClass (test_cart.Broken) | unittest/suite.py:0 | no shop",
		}},
		"bats": {3, 3, 1, 0, []string{ // 1..7: ok 1, 4 and 5; not ok 2, 3 and 7; skip 6
			"cart.bats > pays with card | :0 | (in test file cart.bats, line 2)",
			"cart.bats > breaks | :0 | (in test file cart.bats, line 3)",
			"setup_suite > setup_file failed | :0 | (from function `setup_file' in test file broken.bats, line 1)",
		}},
		"rspec": {2, 4, 3, 0, []string{ // 9 examples, 4 failures, 3 pending
			"cart_spec > cart pays with card | ./cart_spec.rb:3 | the shop answers",
			"cart_spec > cart breaks | ./cart_spec.rb:4 | no database",
			`cart_spec > cart for guests sells Käse | ./cart_spec.rb:9 | expected: "tea"`,
			"cart_spec > broken needs the shop | ./cart_spec.rb:13 | no shop",
		}},
		"minitest": {2, 3, 1, 0, []string{ // 6 tests, 3 assertions, 1 failures, 2 errors, 1 skips
			"Minitest::Result > test_breaks | cart_test.rb:6 | RuntimeError: no database...",
			"Minitest::Result > test_pays_with_card | :0 | the shop answers....",
			"Minitest::Result > test_needs_the_shop | cart_test.rb:11 | RuntimeError: no shop...",
		}},
		"gtest": {3, 3, 3, 0, []string{ // PASSED 3 tests, SKIPPED 2 tests, 3 FAILED TESTS, 1 DISABLED TEST
			"Cart > PaysWithCard | t.cc:5 | t.cc:5",
			"Cart > Breaks | t.cc:6 | unknown file",
			"Things/Sells > Thing/1 | t.cc:11 | t.cc:11",
		}},
		"catch2": {2, 3, 0, 0, []string{ // test cases: 5 | 2 passed | 3 failed
			"t.global > pays with card | :0 | 500 == 200",
			"t.global > breaks | :0 | FAILED:",
			"t.global > sells/Käse | :0 | 1 == 2",
		}},
		"boost": {3, 3, 2, 0, []string{ // of 8 test cases 2 passed, 1 passed with warnings, 3 failed (2 of them aborted), 2 skipped
			"cart > pays_with_card | :0 | ASSERTION FAILURE:",
			"cart > breaks | :0 | unexpected exception",
			"broken > needs_the_shop | :0 | unexpected exception",
		}},
		"ctest": {4, 2, 2, 0, []string{ // 4 Passed, 1 Failed, 1 Timeout, 1 Skipped, 1 Disabled
			"cart.pays | :0 | ",
			"cart.waits | :0 | ",
		}},
		"ginkgo": {2, 4, 3, 0, []string{ // 2 Passed | 4 Failed | 1 Pending | 2 Skipped
			"Shop > [It] cart pays with card [card] | :0 | the shop answers",
			"Shop > [It] cart breaks | :0 | no database",
			"Shop > [It] cart sells Käse | :0 | Expected",
			"Shop > [It] broken needs the shop | :0 | no shop",
		}},
		"godog": {3, 5, 0, 0, []string{ // 8 scenarios (3 passed, 3 failed, 1 pending, 1 undefined), Strict
			"Cart > pays with card | :0 | Step the shop answers 200: the shop answers 500",
			"Cart > breaks | :0 | Step there is no database: no database",
			"Cart > is not written yet | :0 | Step the shop sells on credit",
			"Cart > later | :0 | Step it is later: TODO: write pending definition",
			`Cart > sells Käse | :0 | Step the shop sells "Käse": no Käse`,
		}},
		"junit-console": {5, 6, 2, 0, []string{ // 13 tests found: 5 successful, 5 failed, 1 skipped, 1 aborted; 1 container failed
			"shop.CartTest > sells(String)[2] | :0 | expected: <tea> but was: <Käse>",
			"shop.CartTest > again()[1] | :0 | expected: <true> but was: <false>",
			"shop.CartTest > breaks() | :0 | no database",
			"shop.CartTest > made()[2] | :0 | no b",
			"shop.BrokenTest > needsTheShop() | :0 | no shop",
			"shop.CartTest > pays() | :0 | the shop answers ==> expected: <200> but was: <500>",
		}},
		"testng": {2, 3, 0, 0, []string{ // Total tests run: 5, Failures: 3, Skips: 0
			"shop.CartTest > pays | :0 | the shop answers expected [200] but found [500]",
			"shop.CartTest > breaks | :0 | no database",
			"shop.CartTest > sells (2) | :0 | expected [tea] but found [Käse]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tests := read(t, name+".xml")
			want := results.Counts{Reports: 1, Tests: tc.passed + tc.failed + tc.skipped, Passed: tc.passed, Failed: tc.failed,
				Skipped: tc.skipped, Flaky: tc.flaky, Milliseconds: tests.Counts.Milliseconds}
			for _, f := range tc.failures {
				if strings.HasSuffix(f, "that it does not list.") {
					want.Outside++
				}
			}
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
