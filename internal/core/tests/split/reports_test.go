package split_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
)

// TestSplitKnowsReports: what the test runners of docs/sharding.md report is found under the names that their lists have.
func TestSplitKnowsReports(t *testing.T) {
	for name, tc := range map[string]struct {
		report string
		list   []string
	}{
		"Playwright 1.65": {`<testsuites><testsuite name="user/cart.spec.ts" tests="1" time="1.5"><testcase name="works" classname="user/cart.spec.ts" time="1.5"/></testsuite>
			<testsuite name="pay.spec.ts" tests="1" time="2"><testcase name="fails" classname="pay.spec.ts" time="2"><failure message="pay.spec.ts:9:7 fails"/></testcase></testsuite></testsuites>`,
			[]string{"user/cart.spec.ts", "pay.spec.ts"}},
		"Jest 30 with jest-junit": {`<testsuites name="jest tests"><testsuite name="undefined"><testcase classname=" a" name=" a" time="0.009" file="tests/a.test.js"/></testsuite></testsuites>`,
			[]string{"/app/tests/a.test.js"}},
		"Vitest 4": {`<testsuites name="vitest tests"><testsuite name="tests/a.test.js"><testcase classname="tests/a.test.js" name="a" time="0.002"/></testsuite></testsuites>`,
			[]string{"/app/tests/a.test.js"}},
		"Mocha 11 with mocha-junit-reporter": {`<testsuites name="Mocha Tests"><testsuite name="Root Suite" tests="0"/>
			<testsuite name="a suite" file="/app/test/a.spec.js"><testcase name="a suite a" time="0.001" classname="a"/></testsuite></testsuites>`,
			[]string{"test/a.spec.js"}},
		"pytest 7.2": {`<testsuites><testsuite name="pytest"><testcase classname="tests.test_a" name="test_a" time="0.001"/>
			<testcase classname="tests.test_a.TestX" name="test_y" time="1"><failure message="no">tests/test_a.py:7: AssertionError</failure></testcase>
			<testcase classname="tests.unit.test_u" name="test_a" time="2"/></testsuite></testsuites>`,
			[]string{"tests/test_a.py", "./tests/unit/test_u.py"}},
		"gotestsum 1.13": {`<testsuites><testsuite name="example.com/shop/cart"><testcase classname="example.com/shop/cart" name="TestIt" time="0.1"/>
			<testcase classname="example.com/shop/cart" name="TestBad" time="0.1"><failure message="Failed">    cart_test.go:7: no</failure></testcase></testsuite></testsuites>`,
			[]string{"example.com/shop/cart"}},
	} {
		t.Run(name, func(t *testing.T) {
			tests := results.Tests{}
			if !tests.Add("junit.xml", strings.NewReader(tc.report)) {
				t.Fatal("this is no report")
			}
			p, err := history.ReadPod("pod", bytes.NewReader(tests.Log.Content(nil, time.Time{}, time.Time{}, tests.Counts)), history.NewRoom())
			if err != nil {
				t.Fatal(err)
			}
			r := split.NewRun("run")
			for _, test := range p.Tests {
				r.Add(test.Suite, test.File, test.Milliseconds)
			}
			timings := split.Aggregate([]*split.Run{r})
			plan := split.Split(tc.list, 2, timings)
			if plan.New > 0 {
				t.Errorf("of %q, %d are new; known are %v", tc.list, plan.New, timings.Files)
			}
			var all int64
			for _, ms := range timings.Files {
				all += ms
			}
			if got := plan.Times[0] + plan.Times[1]; got != all {
				t.Errorf("they take %d ms, want all of %v", got, timings.Files)
			}
		})
	}
}
