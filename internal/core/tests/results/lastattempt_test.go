package results_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestLastAttempt: of several tests of one name, the last one decides, in a report and in several reports of the same tests.
func TestLastAttempt(t *testing.T) {
	const pass, fail, skip = `<testcase name="%s"/>`, `<testcase name="%s"><failure message="no"/></testcase>`, `<testcase name="%s"><skipped/></testcase>`
	suite := func(cases ...string) string { return "<testsuite>" + strings.Join(cases, "") + "</testsuite>" }
	of := fmt.Sprintf
	for name, tc := range map[string]struct {
		reason  string
		reports []string // of the same tests
		want    string   // of the log, in its order
		flaky   []string
		failed  []string
	}{
		"repeated and passed": {"the runner says so", []string{suite(of(fail, "pays"), of(pass, "refunds"), of(pass, "pays"))}, "refunds passed 0, pays flaky 1", []string{"pays"}, nil},
		"twice":               {"each attempt counts", []string{suite(of(fail, "pays"), of(fail, "pays"), of(pass, "pays"))}, "pays flaky 2", []string{"pays"}, nil},
		"and failed":          {"the last one decides", []string{suite(of(fail, "pays"), of(fail, "pays"))}, "pays failed 1", nil, []string{"pays"}},
		"passed and failed":   {"the last one decides", []string{suite(of(pass, "pays"), of(fail, "pays"))}, "pays failed 0", nil, []string{"pays"}},
		"passed twice":        {"it is one test", []string{suite(of(pass, "pays"), of(pass, "pays"))}, "pays passed 0", nil, nil},
		"failed and skipped":  {"no attempt passed", []string{suite(of(fail, "pays"), of(skip, "pays"))}, "pays failed 1", nil, []string{"pays"}},
		"skipped and passed":  {"the last one decides", []string{suite(of(skip, "pays"), of(pass, "pays"))}, "pays passed 0", nil, nil},
		"other tests":         {"they count", []string{suite(of(fail, "a"), of(pass, "b"))}, "a failed 0, b passed 0", nil, []string{"a"}},
		"in a second report":  {"it has the last attempts", []string{suite(of(pass, "adds"), of(fail, "pays")), suite(of(pass, "pays"))}, "adds passed 0, pays flaky 1", []string{"pays"}, nil},
		"two browsers":        {"they are two tests", []string{`<testsuites><testsuite name="a.spec.ts" hostname="chromium">` + of(fail, "pays") + `</testsuite><testsuite name="a.spec.ts" hostname="firefox">` + of(pass, "pays") + `</testsuite></testsuites>`}, "a.spec.ts > pays failed 0, a.spec.ts > pays passed 0", nil, []string{"a.spec.ts > pays"}},
		"two suites":          {"they are two tests", []string{`<testsuites><testsuite name="s"><testcase classname="c" name="pays"><failure/></testcase></testsuite><testsuite name="s"><testcase classname="c" name="pays"/></testsuite></testsuites>`}, "c > pays failed 0, c > pays passed 0", nil, []string{"c > pays"}},
		"class and name":      {"they are two tests", []string{suite(`<testcase classname="a > b" name="c"><failure/></testcase>`, `<testcase classname="a" name="b > c"/>`)}, "a > b > c failed 0, a > b > c passed 0", nil, []string{"a > b > c"}},
		"without a name":      {"nobody knows which test it is", []string{suite(`<testcase><failure/></testcase>`, `<testcase/>`)}, "(a test without a name) failed 0, (a test without a name) passed 0", nil, []string{"(a test without a name)"}},
		"a suite that failed": {"it is no test that could be repeated", []string{suite(`<error message="x"/>`, `<error message="y"/>`, of(pass, "a"))},
			"(a test without a name) failed 0, (a test without a name) failed 0, a passed 0", nil, []string{"(a test without a name)", "(a test without a name) (2)"}},
	} {
		t.Run(name, func(t *testing.T) {
			tests := &results.Tests{LastAttempt: true}
			for i, r := range tc.reports {
				tests.AddAttempt(of("%d.xml", i), strings.NewReader(r))
			}
			tests.EndAttempts()
			tests.Add("other.xml", strings.NewReader(suite(of(pass, "another")))) // what comes after is not touched
			var lines, failed []string
			packed, err := gzip.NewReader(bytes.NewReader(tests.Log.Content(nil, time.Time{}, time.Time{}, tests.Counts)))
			if err != nil {
				t.Fatal(err)
			}
			in := json.NewDecoder(packed)
			for i := 0; in.More(); i++ {
				var l httpapi.Test
				if err := in.Decode(&l); err != nil {
					t.Fatal(err)
				}
				if i > 0 { // after the header
					lines = append(lines, of("%s %s %d", l.Name, strings.ToLower(l.State), l.Retries))
				}
			}
			for _, f := range tests.Failures {
				failed = append(failed, f.Name)
			}
			if got := strings.ReplaceAll(strings.Join(lines, ", "), " (2) failed", " failed"); got != tc.want+", another passed 0" {
				t.Errorf("%s: the log has %s", tc.reason, got)
			}
			if diff := cmp.Diff([][]string{tc.flaky, tc.failed}, [][]string{tests.Flaky, failed}); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
			if int(tests.Counts.Tests) != len(lines) || int(tests.Counts.Flaky) != len(tc.flaky) || int(tests.Counts.Failed) != len(tc.failed) {
				t.Errorf("%s: %+v", tc.reason, tests.Counts)
			}
		})
	}
}
