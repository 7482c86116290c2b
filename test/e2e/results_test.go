package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

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
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+screenshots+`[ -z "$FAILED" ]`))
	m := runManager(t, c, options{})

	first := tm.awaitState(tm.failing(m, "7 8 9"), v1alpha1.ReasonFailed)
	story(t, "%s\n%s", message(first), collectedMessage(first))
	tm.checkMessage(first, "3 of 120 tests failed", "test 007", `container "test" exited with code 1`)
	tm.checkCounts(first, v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3}, "test 007", "test 008", "test 009")
	if f := first.Status.Results.Failures[0]; f.File != "tests/shop.js" || f.Line != 7 || f.Message != "expected 7" {
		t.Errorf("the first failure is %+v", f)
	}
	tm.checkFiles(first, 6)

	second := tm.awaitState(tm.failing(m, "8 9 10"), v1alpha1.ReasonFailed)
	story(t, "%s", message(second))
	tm.checkMessage(second, "3 of 120 tests failed, 1 of them new, the first:", "test 010")
	tm.checkCounts(second, v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, ComparedWith: first.Name, NewFailures: 1, KnownFailures: 2, Fixed: 1},
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

// stored are the files of a run, as the store of the cluster keeps them on disk, by pod and path.
func (tm *team) stored(s *v1alpha1.Suite) map[string][]byte {
	tm.t.Helper()
	if s.Status.Artifacts == nil {
		tm.t.Fatalf("%s has no artifacts: %s", s.Name, collectedMessage(s))
	}
	files := map[string][]byte{}
	root := filepath.Join(tm.dir, "store", "postflight", filepath.FromSlash(s.Status.Artifacts.Prefix))
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

// TestResultsOfEveryEnd runs tests that end in every way: each keeps what they wrote until then, and the end of the
// run is that of the tests.
func TestResultsOfEveryEnd(t *testing.T) {
	c := useCluster(t)
	tm := newTeam(t, c)
	const forever = `trap "exit 1" TERM; sleep 600 & wait`
	type results = v1alpha1.TestResults
	failed := &results{Tests: 120, Passed: 117, Failed: 3}
	cases := map[string]struct {
		settings []setting
		state    string
		counts   *results // nil: none are known
		files    int      // -1: depends on how fast the machine is
		says     []string // in the message of the run, or of the condition
	}{
		"times-out": {[]setting{runs(report + forever), timeout(6 * time.Second)}, v1alpha1.ReasonTimedOut, failed, 1, []string{"3 of 120 tests failed", "took longer than its timeout"}},
		"canceled":  {[]setting{runs(report + forever)}, v1alpha1.ReasonCanceled, failed, 1, []string{"3 of 120 tests failed", "Canceled by"}},
		"stubborn":  {[]setting{runs(report + `trap "" TERM; sleep 600 & wait`), timeout(6 * time.Second), grace(5)}, v1alpha1.ReasonTimedOut, failed, -1, []string{"3 of 120 tests failed"}},
		"retried": {[]setting{retries(1), runs(`export FAILED; [ -e /shared/second ] && FAILED=; ` + report + `: >/shared/second; [ -z "$FAILED" ]`), sharedFolder(t)}, v1alpha1.ReasonPassed,
			&results{Tests: 120, Passed: 120, Flaky: 3}, 2, []string{"120 tests passed (3 of them flaky)"}},
		"indexed":    {[]setting{indexed(2), runs(`export FAILED; [ "$JOB_COMPLETION_INDEX" = 0 ] || FAILED=; ` + report)}, v1alpha1.ReasonPassed, &results{Tests: 240, Passed: 237, Failed: 3}, 2, []string{"3 of 240 tests failed", "No container failed, so the run passed"}},
		"unreported": {[]setting{runs(screenshots)}, v1alpha1.ReasonPassed, nil, 5, []string{"5 files were uploaded", "None of them is a JUnit report"}},
		"nothing":    {[]setting{runs("true")}, v1alpha1.ReasonPassed, nil, 0, []string{"left no files"}},
		"broken":     {[]setting{runs(report + `cd "$POSTFLIGHT_RESULTS_DIR"; head -c 3000 junit.xml >half.xml; exit 1`)}, v1alpha1.ReasonFailed, nil, 2, []string{"half.xml"}},
		"laughs":     {[]setting{runs(report + billionLaughs + "exit 1")}, v1alpha1.ReasonFailed, nil, 2, []string{"3 of 121 tests failed"}}, // no entity is expanded
		"odd":        {[]setting{runs(oddFiles)}, v1alpha1.ReasonFailed, nil, 2, []string{"link", "False Incomplete"}},
		"many":       {[]setting{runs(`cd "$POSTFLIGHT_RESULTS_DIR"; for i in $(seq 500); do echo $i >$i.txt; done`)}, v1alpha1.ReasonPassed, nil, 500, []string{"500 files were uploaded"}},
		"too-many":   {[]setting{runs(`cd "$POSTFLIGHT_RESULTS_DIR"; for i in $(seq 1100); do echo $i >$i.txt; done`)}, v1alpha1.ReasonPassed, nil, 1000, []string{"1000 files were uploaded", "False Incomplete"}},
		"too-large": {[]setting{keeps(func(r *v1alpha1.Results) { r.SizeLimit = new(resource.MustParse("1Mi")) }), runs(`head -c 9000000 /dev/zero >"$POSTFLIGHT_RESULTS_DIR/zeros"; ` + forever)}, v1alpha1.ReasonFailed, nil, -1,
			[]string{"wrote too much into the results directory", "1Mi", "sizeLimit"}},
	}
	for name, tc := range cases {
		tm.trigger(name, append([]setting{keeps(), timeout(5 * time.Minute)}, tc.settings...)...)
	}
	m := runManager(t, c, options{})
	ids := map[string]string{}
	for _, r := range tm.notify(m, notification{"branch": "main", "variables": map[string]string{"FAILED": "1 2 3"}}) {
		ids[r.Trigger] = r.Created
	}
	tm.awaitPod(ids["canceled"])
	time.Sleep(2 * time.Second) // the test writes its report
	tm.patchSuite(ids["canceled"], `{"spec":{"cancel":true}}`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := tm.in(t)
			s := tm.awaitEnd(ids[name], 4*time.Minute)
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

func indexed(n int32) setting {
	return func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		t.Spec.JobTemplate.Spec.Completions, t.Spec.JobTemplate.Spec.Parallelism = &n, &n
	}
}

// TestResultsWithoutStore: the tests find their directory, the run passes, and says that nothing is kept.
func TestResultsWithoutStore(t *testing.T) {
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+`echo written`))
	m := runManager(t, c, options{flags: []string{"--store-endpoint=", "--store-bucket="}})
	s := tm.awaitState(tm.failing(m, ""), v1alpha1.ReasonPassed)
	story(t, "%s\n%s", message(s), collectedMessage(s))
	if !strings.Contains(tm.log(s.Name), "written") || !strings.HasPrefix(collectedMessage(s), "False StoreNotConfigured: ") || s.Status.Results != nil {
		t.Errorf("%q, %q, %+v", tm.log(s.Name), collectedMessage(s), s.Status.Results)
	}
}

// TestResultsWithoutManager: the manager is away when the tests end, so nothing is uploaded, and the run says so once
// the manager is back.
func TestResultsWithoutManager(t *testing.T) {
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), runs(report+`sleep 5; [ -z "$FAILED" ]`))
	m := runManager(t, c, options{})
	id := tm.failing(m, "1 2")
	tm.awaitPod(id)
	m.kill()
	for deadline := time.Now().Add(2 * time.Minute); tm.pods(id)[0].Status.Phase == corev1.PodRunning && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	m.start()
	m.awaitReady()
	s := tm.awaitState(id, v1alpha1.ReasonFailed)
	story(t, "%s\n%s", message(s), collectedMessage(s))
	tm.checkCounts(s, v1alpha1.TestResults{Tests: 120, Passed: 118, Failed: 2}, "test 001", "test 002")
	if s.Status.Artifacts != nil || !strings.HasPrefix(collectedMessage(s), "False Incomplete: ") {
		t.Errorf("%+v, %q", s.Status.Artifacts, collectedMessage(s))
	}
}

// TestCollectingIsNotOverdue: tests that end shortly before their time is up pass, although the upload takes longer.
func TestCollectingIsNotOverdue(t *testing.T) {
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("browser", keeps(), timeout(8*time.Second), runs(report+`sleep 6`))
	store := newStoreProxy(t, c) // it never answers, so that the collector waits for it
	m := runManager(t, c, options{flags: []string{"--store-endpoint=http://" + store.address}})
	s := tm.awaitState(tm.failing(m, ""), v1alpha1.ReasonPassed)
	took := s.Status.CompletionTime.Sub(s.Status.StartTime.Time)
	story(t, "after %s: %s\n%s", took, message(s), collectedMessage(s))
	if took <= 8*time.Second {
		t.Errorf("the run took %s, so that the collector took no longer than the timeout", took)
	}
}

// TestLargeResults uploads a file of 1 GiB, and more than the 2 GiB that are kept of a run.
func TestLargeResults(t *testing.T) {
	if !full() {
		t.Skip("SKIPPED: writes 3.5 GiB; set " + envFull + "=1 to run it")
	}
	c := useCluster(t)
	tm := newTeam(t, c)
	// The sizes are in KiB: two files fill the run, the third has no room, the fourth is too large by itself.
	tm.trigger("video", keeps(), timeout(10*time.Minute), grace(300), runs(`cd "$POSTFLIGHT_RESULTS_DIR"
for n in 1048576 524288 524289 1048577; do dd if=/dev/zero of=$n.bin bs=1024 count=0 seek=$n 2>/dev/null; done; echo small >small.txt`))
	m := runManager(t, c, options{})
	began := time.Now()
	s := tm.awaitEnd(tm.failing(m, ""), 10*time.Minute)
	story(t, "after %s: %s\n%s", time.Since(began), message(s), collectedMessage(s))
	figure(t, "LARGE_RESULTS bytes=%d seconds=%.1f", s.Status.Artifacts.Bytes, time.Since(began).Seconds())
	if s.State() != v1alpha1.ReasonPassed || s.Status.Artifacts.Count != 3 || s.Status.Artifacts.Bytes != 3<<29+6 {
		t.Errorf("%s with %+v, want the files of 1 GiB, 512 MiB and 6 bytes", s.State(), *s.Status.Artifacts)
	}
}

// BenchmarkResults measures from the end of the test to the end of the run, with results and without.
func BenchmarkResults(b *testing.B) {
	c := useCluster(b)
	tm := newTeam(b, c)
	const shots = `for i in 1 2 3 4 5 6 7 8 9; do head -c 200000 /dev/urandom >"$POSTFLIGHT_RESULTS_DIR/$i.png"; done; `
	const sayWhen = `cut -d " " -f 1 /proc/uptime >/dev/termination-log`
	tm.trigger("without", branches("without-*"), runs(`POSTFLIGHT_RESULTS_DIR=/tmp; `+report+shots+sayWhen), func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
	})
	tm.trigger("with", branches("with-*"), keeps(), runs(report+shots+sayWhen))
	m := runManager(b, c, options{})
	took := map[string][]time.Duration{}
	const runs = 10
	for b.Loop() {
		for _, kind := range []string{"without", "with"} {
			for range runs {
				took[kind] = append(took[kind], tm.afterTest(m, kind+"-"+random(4)))
			}
		}
	}
	figure(b, "RESULTS runs=%d files=10 bytes=1800000 median_ms_without=%.0f median_ms_with=%.0f max_ms_without=%.0f max_ms_with=%.0f", runs,
		milliseconds(took["without"]), milliseconds(took["with"]), largest(took["without"]), largest(took["with"]))
}

// afterTest is how long after the end of its test a run ended. The test says when, in seconds since the boot of the
// machine, which is that of the node.
func (tm *team) afterTest(m *manager, branch string) time.Duration {
	tm.t.Helper()
	s := tm.awaitState(tm.run(m, notification{"branch": branch, "sha": sha()}), v1alpha1.ReasonPassed)
	content, err := os.ReadFile("/proc/uptime")
	now := time.Now()
	if err != nil {
		tm.t.Fatal(err)
	}
	var uptime, ended float64
	_, said, _ := strings.Cut(message(s), "passed in ")
	_, said, _ = strings.Cut(said, ": ")
	if _, err := fmt.Sscan(said, &ended); err != nil {
		tm.t.Fatalf("%q does not say when the test ended: %v", message(s), err)
	}
	if _, err := fmt.Fscan(bytes.NewReader(content), &uptime); err != nil {
		tm.t.Fatal(err)
	}
	boot := now.Add(-time.Duration(uptime * float64(time.Second)))
	return tm.history(s.Name).ended.Sub(boot.Add(time.Duration(ended * float64(time.Second))))
}

func largest(all []time.Duration) float64 {
	return float64(slices.Max(all).Microseconds()) / 1000
}
