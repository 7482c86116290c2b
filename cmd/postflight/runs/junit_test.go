package runs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestJUnit(t *testing.T) {
	const good = `<testsuites><testsuite name="cart"><testcase name="adds"/>` +
		`<testcase name="pays"><failure message="no"/></testcase></testsuite></testsuites>`
	const green = `<testsuite name="cart"><testcase name="adds"/></testsuite>`
	passed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("All is well.")} }
	timedOut := func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.TimedOut("It took\nlonger.")}
	}
	cases := map[string]struct {
		run   httpapi.Run
		files []clitest.File
		want  []string
		says  string
	}{
		"reports of two pods": {run: clitest.Run("smoke-1", clitest.WithResults),
			files: []clitest.File{file("p", "junit.xml", good), file("q", "x/B.XML", green), file("q", "a.png", "x")},
			want:  []string{"cart/adds", "cart/pays failed: no", "cart/adds"}, says: "report.xml: tests 3, failed 1."},
		"no files":                   {run: clitest.Run("smoke-1", passed), want: []string{"smoke/smoke-1"}},
		"no files, and it timed out": {run: clitest.Run("smoke-1", timedOut), want: []string{"smoke/smoke-1 failed: TimedOut: It took; longer."}},
		"reports that do not explain the end": {run: clitest.Run("smoke-1", clitest.WithResults),
			files: []clitest.File{file("p", "junit.xml", green)},
			want:  []string{"cart/adds", "smoke/smoke-1 failed: Failed: 3 of 120 tests failed."}},
		"other XML": {run: clitest.Run("smoke-1", clitest.WithResults), files: []clitest.File{file("p", "a.xml", "<coverage/>")},
			want: []string{"smoke/smoke-1 failed: Failed: 3 of 120 tests failed."}},
		"a broken report": {run: clitest.Run("smoke-1", clitest.WithResults),
			files: []clitest.File{file("p", "a.xml", "<testsuite><testcase"), file("p", "b.xml", good)},
			want: []string{"cart/adds",
				"cart/pays failed: no"}, says: "Run smoke-1: No test of the report a.xml could be read: its end is missing."},
		"a report that was cut": {run: clitest.Run("smoke-1", clitest.WithResults),
			files: []clitest.File{file("p", "a.xml", strings.TrimSuffix(good, "</testsuite></testsuites>"))},
			want: []string{"cart/adds",
				"cart/pays failed: no"}, says: "Run smoke-1: Only the first 2 tests of the report a.xml could be read: its end is missing."},
		"copies": {run: clitest.Run("smoke-1", clitest.WithResults), files: []clitest.File{file("p", "a.xml", good), file("p", "b.xml", good),
			file("q", "a.xml", green), file("p", "c.xml", green)},
			want: []string{"cart/adds", "cart/pays failed: no", "cart/adds", "cart/adds"}, says: "tests 4, failed 1."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			(&clitest.API{Runs: []httpapi.Run{tc.run}, Files: tc.files}).Start(t)
			file := filepath.Join(t.TempDir(), "report.xml")
			program.Expect(t, 0, nil, []string{tc.says}, "runs", "results", "smoke-1", "--junit", file)
			if diff := cmp.Diff(tc.want, clitest.JUnitCases(t, file)); diff != "" {
				t.Error(diff)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}
