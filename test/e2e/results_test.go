package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// keeps makes the runs of a Trigger keep their results. Their pods have the grace period of all such pods.
func keeps(change ...func(*v1alpha1.Results)) setting {
	return func(t *v1alpha1.Trigger) {
		t.Spec.Results = &v1alpha1.Results{}
		t.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
		for _, c := range change {
			c(t.Spec.Results)
		}
	}
}

// report writes a JUnit report of 120 tests, of which those that $FAILED names failed.
const report = `awk 'BEGIN {
	n = split(ENVIRON["FAILED"], failed, " "); for (i = 1; i <= n; i++) bad[failed[i]] = 1
	print "<testsuites><testsuite name=\"shop\">"
	for (i = 1; i <= 120; i++) {
		printf "<testcase classname=\"shop\" name=\"test %03d\" time=\"0.01\" file=\"tests/shop.js\" line=\"%d\">", i, i
		if (i in bad) printf "<failure message=\"expected %d\">a trace</failure>", i
		print "</testcase>"
	}
	print "</testsuite></testsuites>"
}' >"$POSTFLIGHT_RESULTS_DIR/junit.xml"; `

// screenshots writes files like those of a browser test, and prints their checksums.
const screenshots = `cd "$POSTFLIGHT_RESULTS_DIR"; mkdir -p "html report/data" shots; echo "<h1>größe</h1>" >"html report/index.html"
for i in 1 2 3; do head -c 300000 /dev/urandom >"shots/ünï $i+%.png"; done; : >empty; find . -type f -exec sha256sum {} +; `

// TestResults counts 3 of 120 tests that failed, names them, says on the second run which of them are new, and
// returns all files byte for byte.
func TestResults(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+screenshots+`[ -z "$FAILED" ]`))
	m := tm.sharedManager()

	first := tm.awaitState(tm.failing(m, "7 8 9"), v1alpha1.ReasonFailed)
	story(t, "%s\n%s", message(first), collectedMessage(first))
	tm.checkMessage(first, "3 of 120 tests failed", "test 007", `container "test" exited with code 1`)
	tm.checkCounts(first, v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, OnlyTestsFailed: true}, "test 007", "test 008", "test 009")
	if f := first.Status.Results.Failures[0]; f.File != "tests/shop.js" || f.Line != 7 || f.Message != "expected 7" {
		t.Errorf("the first failure is %+v", f)
	}
	tm.checkFiles(first, 6)

	second := tm.awaitState(tm.failing(m, "8 9 10"), v1alpha1.ReasonFailed)
	story(t, "%s", message(second))
	tm.checkMessage(second, "3 of 120 tests failed, 1 of them new, the first:", "test 010")
	tm.checkCounts(second, v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, ComparedWith: first.Name, NewFailures: 1, KnownFailures: 2, Fixed: 1, OnlyTestsFailed: true},
		"test 010", "test 008", "test 009")

	third := tm.awaitState(tm.failing(m, ""), v1alpha1.ReasonPassed)
	story(t, "%s", message(third))
	tm.checkMessage(third, "120 tests passed. The run passed in ")
	tm.checkCounts(third, v1alpha1.TestResults{Tests: 120, Passed: 120, ComparedWith: second.Name, Fixed: 3})

	wide, err := c.kubectl("get", "suite", "-n", tm.name, second.Name, "-o", "wide")
	if story(t, "%s", wide); err != nil || !strings.Contains(wide, "TESTS") || !slices.Contains(strings.Fields(wide), "120") {
		t.Errorf("kubectl get -o wide: %v\n%s", err, wide)
	}
	tm.noSignature(m, first.Name)
}

// failing notifies of a deployment with which these tests fail.
func (tm *team) failing(m *manager, tests string) string {
	tm.t.Helper()
	return tm.run(m, notification{"branch": "b" + random(4), "variables": map[string]string{"FAILED": tests}})
}

func (tm *team) checkMessage(s *v1alpha1.Suite, want ...string) {
	tm.t.Helper()
	for _, part := range want {
		if !strings.Contains(strings.ToLower(message(s)), strings.ToLower(part)) {
			tm.t.Errorf("%s says %q, want %q in it", s.Name, message(s), part)
		}
	}
}

// checkCounts compares the counts, and the ends of the names of the failures.
func (tm *team) checkCounts(s *v1alpha1.Suite, want v1alpha1.TestResults, failures ...string) {
	tm.t.Helper()
	if s.Status.Results == nil {
		tm.t.Fatalf("%s has no results: %s", s.Name, collectedMessage(s))
	}
	got := *s.Status.Results
	names := make([]string, len(got.Failures))
	for i, f := range got.Failures {
		names[i] = f.Name
	}
	matches := slices.EqualFunc(names, failures, strings.HasSuffix)
	got.Failures, got.Duration = nil, nil
	if !matches || fmt.Sprint(got) != fmt.Sprint(want) {
		tm.t.Errorf("%s has %+v with the failures %q, want %+v with %q", s.Name, got, names, want, failures)
	}
}

// storedAt is where the store of the cluster keeps the files of a run on disk.
func (tm *team) storedAt(s *v1alpha1.Suite) string {
	tm.t.Helper()
	if s.Status.Artifacts == nil {
		tm.t.Fatalf("%s has no artifacts: %s", s.Name, collectedMessage(s))
	}
	return filepath.Join(tm.dir, "store", "postflight", filepath.FromSlash(s.Status.Artifacts.Prefix))
}

// stored are the files of a run, by pod and path.
func (tm *team) stored(s *v1alpha1.Suite) map[string][]byte {
	tm.t.Helper()
	files, root := map[string][]byte{}, tm.storedAt(s)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	return files
}

// checkFiles compares the stored files with the checksums that the test has printed, and with the status.
func (tm *team) checkFiles(s *v1alpha1.Suite, count int) {
	tm.t.Helper()
	files, bytes, pod := tm.stored(s), int64(0), tm.pods(s.Name)[0].Name
	printed := tm.log(s.Name)
	for path, content := range files {
		sum := sha256.Sum256(content)
		line := hex.EncodeToString(sum[:]) + "  ./" + strings.TrimPrefix(path, pod+"/")
		if !strings.Contains(printed, line) {
			tm.t.Errorf("%s is not what the test wrote: %s is not among\n%s", path, line, printed)
		}
		bytes += int64(len(content))
	}
	if a := s.Status.Artifacts; len(files) != count || int(a.Count) != count || a.Bytes != bytes {
		tm.t.Errorf("%d files with %d bytes are stored, and status.artifacts has %+v, want %d", len(files), bytes, *a, count)
	}
}

func collectedMessage(s *v1alpha1.Suite) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionResultsCollected)
	if c == nil {
		return "no condition ResultsCollected"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}
