package outcome

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// ran leaves a report of tests with these names, each before a comma.
func ran(passed, failed string) func(*corev1.Pod) {
	report := "<testsuite>"
	for name := range strings.SplitSeq(passed, ", ") {
		report += `<testcase name="` + name + `"/>`
	}
	for name := range strings.SplitSeq(failed, ", ") {
		if name != "" {
			report += `<testcase name="` + name + `"><failure/></testcase>`
		}
	}
	var tests results.Tests
	tests.Add("junit.xml", strings.NewReader(report+"</testsuite>"))
	return left(tests.Summary())
}

// TestReplacedPods: what failed in a pod passes only by that very test of a later one.
func TestReplacedPods(t *testing.T) {
	const earlier = " Of them, 1 failed in an earlier pod, and no later one shows that they pass."
	failed := func(name, passed, failed string) corev1.Pod {
		return newPod(corev1.PodFailed, named(name), fails, ran(passed, failed))
	}
	then := func(name string, report func(*corev1.Pod)) corev1.Pod {
		return newPod(corev1.PodSucceeded, named(name), created(60), passes, report)
	}
	beside := newPod(corev1.PodSucceeded, named("a"), passes, ran("q1, q2", ""))
	for name, tc := range map[string]struct {
		reason  string
		workers int32
		pods    []corev1.Pod
		problem string // "": the run passed
	}{
		"another part of a queue": {"nobody ran it again", 2, []corev1.Pod{beside, failed("b", "q3", "checkout"), then("c", ran("q4, q5", ""))},
			"1 of 5 tests failed: checkout." + earlier},
		"the same part of a queue": {"it passed", 2, []corev1.Pod{beside, failed("b", "q3", "checkout"), then("c", ran("q4, checkout", ""))}, ""},
		"two parts of a queue": {"each was done by the other's replacement", 2,
			[]corev1.Pod{failed("a", "q1", "x"), failed("b", "q2", "y"), then("c", ran("y, q3", "")), then("d", ran("x, q4", ""))}, ""},
		"beside it": {"it may have passed before", 2, []corev1.Pod{beside, failed("b", "q3", "q1"), then("c", ran("q4, q5", ""))},
			"1 of 5 tests failed: q1." + earlier},
		"other tests": {"as many are not the same", 1, []corev1.Pod{failed("b", "q3", "checkout"), then("c", ran("q4, q5", ""))},
			"1 of 3 tests failed: checkout." + earlier},
		"a number": {"it belongs to the name", 1, []corev1.Pod{failed("b", "a, pays", "pays (2)"), then("c", ran("pays", ""))},
			"1 of 2 tests failed: pays (2)." + earlier},
		"without names": {"nobody knows which passed", 1, []corev1.Pod{failed("b", "a", "b"), then("c", reports(0))},
			"1 of 11 tests failed: b." + earlier},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(complete, keepsResults, queueOf(tc.workers), func(j *batchv1.Job) { j.Status.Succeeded = 1 })
			state, says := v1alpha1.ReasonFailed, `Container "test" exited with 0, but `+tc.problem
			if tc.problem == "" {
				state, says = v1alpha1.ReasonPassed, "The run passed"
			}
			got := Observe(StripJob(j), tc.pods)
			agree := (got.Collected.Summary.Failed > 0) == (tc.problem != "")
			if got.Condition.Reason != state || !strings.Contains(got.Condition.Message, says) || !agree {
				t.Errorf("%s: %s: %s", tc.reason, got.Condition.Reason, got.Condition.Message)
			}
		})
	}
}
