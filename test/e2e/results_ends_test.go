package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// billionLaughs is a small file that expands to gigabytes.
const billionLaughs = `cat >"$POSTFLIGHT_RESULTS_DIR/laughs.xml" <<END
<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">
<!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;">]>
<testsuite name="x"><testcase name="&g;"/></testsuite>
END
`

// oddFiles are files that nobody expects: a link out of the directory, a pipe, names that are no paths in the store,
// and one that only its owner reads.
const oddFiles = `cd "$POSTFLIGHT_RESULTS_DIR"; ln -s /etc/passwd link; ln -s .. up; mkfifo pipe; echo a >'back\slash'; echo b >"$(printf 'line\nbreak')"
echo c >good.txt; echo d >..dots; exit 1`

// reportNames writes a report with a test for each argument.
const reportNames = `for name; do tests="$tests<testcase name=\"$name\"/>"; done; echo "<testsuite>$tests</testsuite>" >"$POSTFLIGHT_RESULTS_DIR/junit.xml"`

// TestResultsOfEveryEnd runs tests that end in every way: each keeps what they wrote until then, and the end of the
// run is that of the tests.
func TestResultsOfEveryEnd(t *testing.T) {
	tier.All(t, "it runs a pod for each of many ends, and TestResults three")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.label(podSecurity, "privileged") // for the folder of the node that the two pods of a case share
	const written, forever = "echo written\n", `trap "exit 1" TERM; sleep 600 & wait`
	type results = v1alpha1.TestResults
	failed := &results{Tests: 120, Passed: 117, Failed: 3}
	cases := map[string]struct {
		settings []setting
		state    string
		counts   *results // nil: none are known
		files    int      // -1: depends on how fast the machine is
		says     []string // in the message of the run, or of the condition
	}{
		"times-out": {[]setting{runs(report + written + forever)}, v1alpha1.ReasonTimedOut, failed, 1, []string{"3 of 120 tests failed", "took longer than its timeout"}},
		"canceled":  {[]setting{runs(report + written + forever)}, v1alpha1.ReasonCanceled, failed, 1, []string{"3 of 120 tests failed", "Canceled by"}},
		"stubborn":  {[]setting{runs(report + `trap "" TERM; ` + written + `sleep 600 & wait`), grace(5)}, v1alpha1.ReasonTimedOut, failed, -1, []string{"3 of 120 tests failed"}},
		"retried": {[]setting{retries(1), runs(`export FAILED; [ -e /shared/second ] && FAILED=; ` + report + `: >/shared/second; [ -z "$FAILED" ]`), sharedFolder(t)}, v1alpha1.ReasonPassed,
			&results{Tests: 120, Passed: 120, Flaky: 3}, 2, []string{"120 tests passed (3 of them flaky, the first: "}},
		"indexed":    {[]setting{indexed(2), runs(`export FAILED; [ "$JOB_COMPLETION_INDEX" = 0 ] || FAILED=; ` + report)}, v1alpha1.ReasonFailed, &results{Tests: 240, Passed: 237, Failed: 3}, 2, []string{`Container "test" exited with 0, but 3 of 240 tests failed`}},
		"bad-shard":  {[]setting{indexed(4), runs(`export FAILED; [ "$JOB_COMPLETION_INDEX" = 0 ] || FAILED=; ` + report + `[ -z "$FAILED" ]`)}, v1alpha1.ReasonFailed, &results{Tests: 480, Passed: 477, Failed: 3}, 4, []string{"3 of 480 tests failed", "1 of 4 shards failed. Container"}},
		"one-shard":  {[]setting{indexed(4), runs(`[ "$JOB_COMPLETION_INDEX" = 2 ] || { export FAILED=; ` + report + `}`)}, v1alpha1.ReasonFailed, &results{Tests: 360, Passed: 360}, 3, []string{"the tests of one pod, ", "left no JUnit report"}},
		"shards":     {[]setting{shards(4, false), runs(`printf "%s\n" c a b | "$POSTFLIGHT_SPLIT" --exec sh -c '` + reportNames + `' sh`)}, v1alpha1.ReasonPassed, &results{Tests: 3, Passed: 3}, 4, []string{"3 tests passed"}}, // one has an empty report
		"fail-fast":  {[]setting{shards(4, true), runs(`[ "$POSTFLIGHT_SHARD_INDEX" = 0 ] || sleep 600; ` + report + `exit 1`)}, v1alpha1.ReasonFailed, failed, -1, []string{"3 of 120 tests failed", "1 of 4 shards failed; 3 were stopped. Container"}},
		"exit-code":  {[]setting{keeps(nothing), runs(report)}, v1alpha1.ReasonPassed, failed, 1, []string{"3 of 120 tests failed", "No container failed, so the run passed", "(exit code only)"}},
		"empty":      {[]setting{runs(`: >"$POSTFLIGHT_RESULTS_DIR/junit.xml"`)}, v1alpha1.ReasonFailed, nil, 1, []string{"a report could not be read whole", "junit.xml", "it ends before its first element"}},
		"no-tests":   {[]setting{runs(`echo "<testsuites/>" >"$POSTFLIGHT_RESULTS_DIR/junit.xml"`)}, v1alpha1.ReasonFailed, &results{}, 1, []string{"its reports list no tests"}},
		"skipped":    {[]setting{runs(`echo '<testsuite><testcase name="a"><skipped/></testcase></testsuite>' >"$POSTFLIGHT_RESULTS_DIR/junit.xml"`)}, v1alpha1.ReasonFailed, &results{Tests: 1, Skipped: 1}, 1, []string{"all of its tests were skipped (1)"}},
		"unread":     {[]setting{runs(`export FAILED=; ` + report + `chmod 0 "$POSTFLIGHT_RESULTS_DIR"/*.xml`), runAsRoot}, v1alpha1.ReasonFailed, nil, -1, []string{"a report could not be read whole", "not readable by the user of the collector"}},
		"cut":        {[]setting{runs(`export FAILED=; ` + report + `cd "$POSTFLIGHT_RESULTS_DIR"; head -c 3000 junit.xml >half.xml`)}, v1alpha1.ReasonFailed, nil, 2, []string{"a report could not be read whole", "half.xml could be read: its end is missing"}},
		"too-few":    {[]setting{keeps(func(r *v1alpha1.Results) { r.MinTests = 121 }), runs(`export FAILED=; ` + report)}, v1alpha1.ReasonFailed, &results{Tests: 120, Passed: 120}, 1, []string{"only 120 tests ran, and results.minTests of the Trigger is 121"}},
		"unreported": {[]setting{runs(screenshots)}, v1alpha1.ReasonFailed, nil, 5, []string{"none of the files in the results directory is a JUnit report", "5 files were uploaded"}},
		"nothing":    {[]setting{runs("true")}, v1alpha1.ReasonFailed, nil, 0, []string{"its tests left no JUnit report", "left no files"}},
		"broken":     {[]setting{runs(report + `cd "$POSTFLIGHT_RESULTS_DIR"; head -c 3000 junit.xml >half.xml; exit 1`)}, v1alpha1.ReasonFailed, nil, 2, []string{"half.xml"}},
		"laughs":     {[]setting{runs(report + billionLaughs + "exit 1")}, v1alpha1.ReasonFailed, nil, 2, []string{"3 of 121 tests failed"}}, // no entity is expanded
		"odd":        {[]setting{runs(oddFiles)}, v1alpha1.ReasonFailed, nil, 2, []string{"link", "False Incomplete"}},
		"many":       {[]setting{keeps(nothing), runs(`cd "$POSTFLIGHT_RESULTS_DIR"; for i in $(seq 500); do echo $i >$i.txt; done`)}, v1alpha1.ReasonPassed, nil, 500, []string{"500 files were uploaded"}},
		"too-many":   {[]setting{keeps(nothing), runs(`cd "$POSTFLIGHT_RESULTS_DIR"; for i in $(seq 1100); do echo $i >$i.txt; done`)}, v1alpha1.ReasonPassed, nil, 1000, []string{"1000 files were uploaded", "False Incomplete"}},
		"too-large": {[]setting{keeps(func(r *v1alpha1.Results) { r.SizeLimit = new(resource.MustParse("1Mi")) }), runs(`head -c 9000000 /dev/zero >"$POSTFLIGHT_RESULTS_DIR/zeros"; ` + forever)}, v1alpha1.ReasonFailed, nil, -1,
			[]string{"wrote too much into the results directory", "1Mi", "sizeLimit"}},
	}
	for name, tc := range cases {
		tm.trigger(name, append([]setting{keeps(), timeout(5 * time.Minute)}, tc.settings...)...)
	}
	m := tm.sharedManager()
	ids := map[string]string{}
	for _, r := range tm.notify(m, notification{"branch": "main", "variables": map[string]string{"FAILED": "1 2 3"}}) {
		ids[r.Trigger] = r.Created
	}
	for _, name := range []string{"times-out", "stubborn"} {
		tm.awaitLog(ids[name], "written")
		tm.shortenTimeout(ids[name])
	}
	tm.awaitLog(ids["canceled"], "written")
	tm.patchSuite(ids["canceled"], `{"spec":{"cancel":true}}`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := tm.in(t)
			s := tm.awaitFor(2*poll.Limit, ids[name], "ended", (*v1alpha1.Suite).Finished)
			story(t, "%s: %s\n%s", s.State(), message(s), collectedMessage(s))
			if s.State() != tc.state {
				t.Errorf("it ended %s, want %s", s.State(), tc.state)
			}
			for _, part := range tc.says {
				if !strings.Contains(message(s)+"\n"+collectedMessage(s), part) {
					t.Errorf("nothing says %q", part)
				}
			}
			if tc.counts != nil {
				is := results{}
				if r := s.Status.Results; r != nil {
					is = results{Tests: r.Tests, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, Flaky: r.Flaky}
				}
				if fmt.Sprint(is) != fmt.Sprint(*tc.counts) {
					t.Errorf("counts %+v, want %+v", is, *tc.counts)
				}
			}
			if tc.files > 0 {
				if files := tm.stored(s); len(files) != tc.files || int(s.Status.Artifacts.Count) != tc.files {
					t.Errorf("%d files are stored, and %+v are in the status, want %d", len(files), s.Status.Artifacts, tc.files)
				}
			}
			if tc.files == 0 && s.Status.Artifacts != nil {
				t.Errorf("files appeared: %+v", s.Status.Artifacts)
			}
		})
	}
}

// shortenTimeout ends a run whose tests have got as far as the caller waited for. A timeout that is short from the start may end a
// run on a busy machine before its tests have done anything.
func (tm *team) shortenTimeout(id string) {
	tm.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1s"}}}`, v1alpha1.AnnotationTimeout)
	if err := tm.Patch(tm.t.Context(), &batchv1.Job{ObjectMeta: tm.meta(id)}, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		tm.t.Fatal(err)
	}
}

// nothing has the exit code alone decide.
func nothing(r *v1alpha1.Results) { r.Require = v1alpha1.RequireNothing }

// runAsRoot, so that the collector, which does not, cannot read what only its owner can.
func runAsRoot(t *v1alpha1.Trigger) {
	container(t).SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(false)}
}

// sharedFolder is a folder of this machine, which is the node, at /shared.
func sharedFolder(t testing.TB) setting {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return func(t *v1alpha1.Trigger) {
		pod := &t.Spec.JobTemplate.Spec.Template.Spec
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "shared", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
		container(t).VolumeMounts = append(container(t).VolumeMounts, corev1.VolumeMount{Name: "shared", MountPath: "/shared"})
	}
}

func shards(n int32, failFast bool) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Shards, t.Spec.FailFast = n, failFast }
}

func indexed(n int32) setting {
	return func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		t.Spec.JobTemplate.Spec.Completions, t.Spec.JobTemplate.Spec.Parallelism = &n, &n
	}
}
