package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// testReport is a JUnit report as CI systems read it.
type testReport struct {
	Suites []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// casesOf is a line per test: its suite, its name and its failure.
func casesOf(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report testReport
	if err := xml.Unmarshal(content, &report); err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	var lines []string
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			line := suite.Name + "/" + c.Name
			if c.Failure != nil {
				line += " failed: " + c.Failure.Message
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestJUnit(t *testing.T) {
	const good = `<testsuites><testsuite name="cart"><testcase name="adds"/><testcase name="pays"><failure message="no"/></testcase></testsuite></testsuites>`
	const green = `<testsuite name="cart"><testcase name="adds"/></testsuite>`
	passed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("All is well.")} }
	timedOut := func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.TimedOut("It took\nlonger.")}
	}
	cases := map[string]struct {
		run   httpapi.Run
		files []aFile
		want  []string
		says  string
	}{
		"reports of two pods": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "junit.xml", good}, {"q", "x/B.XML", green}, {"q", "a.png", "x"}},
			want: []string{"cart/adds", "cart/pays failed: no", "cart/adds"}, says: "report.xml: tests 3, failed 1."},
		"no files":                   {run: apiRun("smoke-1", passed), want: []string{"smoke/smoke-1"}},
		"no files, and it timed out": {run: apiRun("smoke-1", timedOut), want: []string{"smoke/smoke-1 failed: TimedOut: It took; longer."}},
		"reports that do not explain the end": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "junit.xml", green}},
			want: []string{"cart/adds", "smoke/smoke-1 failed: Failed: 3 of 120 tests failed."}},
		"other XML": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "a.xml", "<coverage/>"}}, want: []string{"smoke/smoke-1 failed: Failed: 3 of 120 tests failed."}},
		"a broken report": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "a.xml", "<testsuite><testcase"}, {"p", "b.xml", good}},
			want: []string{"cart/adds", "cart/pays failed: no"}, says: "Run smoke-1: No test of the report a.xml could be read: its end is missing."},
		"a report that was cut": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "a.xml", strings.TrimSuffix(good, "</testsuite></testsuites>")}},
			want: []string{"cart/adds", "cart/pays failed: no"}, says: "Run smoke-1: Only the first 2 tests of the report a.xml could be read: its end is missing."},
		"copies": {run: apiRun("smoke-1", withResults), files: []aFile{{"p", "a.xml", good}, {"p", "b.xml", good}, {"q", "a.xml", green}, {"p", "c.xml", green}},
			want: []string{"cart/adds", "cart/pays failed: no", "cart/adds", "cart/adds"}, says: "tests 4, failed 1."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			(&anAPI{runs: []httpapi.Run{tc.run}, files: tc.files}).start(t)
			file := filepath.Join(t.TempDir(), "report.xml")
			_, log, code := invoke(t, "runs", "results", "smoke-1", "--junit", file)
			if code != 0 || !strings.Contains(log, tc.says) {
				t.Errorf("exit code %d, want %q in\n%s", code, tc.says, log)
			}
			if diff := cmp.Diff(tc.want, casesOf(t, file)); diff != "" {
				t.Error(diff)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// TestWaitShowsResults: a command that waited shows which tests failed, and writes the report, of each run.
func TestWaitShowsResults(t *testing.T) {
	second := apiRun("visual-1", exitCode1, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" })
	api := &anAPI{runs: []httpapi.Run{apiRun("smoke-1", withResults), second},
		deploy: `{"trigger_id":"smoke","created_suite_id":"smoke-1"},{"trigger_id":"visual","created_suite_id":"visual-1"}`}
	api.start(t)
	for name, args := range map[string]string{"notify": "notify --no-detect --branch main --wait", "wait": "wait smoke-1 visual-1"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.xml")
			_, log, code := invoke(t, append(strings.Fields(args), "--junit", file)...)
			const want = `smoke-1: 3 of 120 tests failed, 1 new, 2 fixed, 4 skipped
  ✗ new    checkout › pays; ::error::x  (tests/checkout.spec.ts:12)  expected 200
  ✗ known  login
  and 1 more
  https://postflight.example.com/runs/acme/smoke-1
`
			if code != cli.ExitFailed || !strings.Contains(log, want) {
				t.Errorf("exit code %d, want 1, and\n%s\nin\n%s", code, want, log)
			}
			if diff := cmp.Diff([]string{"smoke: smoke/smoke-1 failed: Failed: 3 of 120 tests failed.", "visual: visual/visual-1 failed: Failed: Exit code 1."}, casesOf(t, file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJUnitMistakes are found before anything starts.
func TestJUnitMistakes(t *testing.T) {
	api := &anAPI{}
	api.start(t)
	for _, args := range []string{"wait smoke-1 --junit nowhere/report.xml", "notify --wait --junit nowhere/report.xml", "notify --junit report.xml"} {
		if _, log, code := invoke(t, strings.Fields(args)...); code != cli.ExitTrouble || len(api.requests) > 0 {
			t.Errorf("%s: exit code %d, requests %v\n%s", args, code, api.requests, log)
		}
	}
}
