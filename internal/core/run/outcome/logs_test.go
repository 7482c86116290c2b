package outcome

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func TestWithoutLogCommands(t *testing.T) {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "acme"}}
	for name, tc := range map[string]struct {
		reason, message, want string
	}{
		"running":     {"its last sentence goes", "The tests are running. Follow them: " + logCommands(j, "job/smoke-1", "-f"), "The tests are running."},
		"failed":      {"of several sentences, only that", `1 of 3 tests failed: a. Container "test" exited with code 1. Its log says more: ` + logCommands(j, "p", "-c test"), `1 of 3 tests failed: a. Container "test" exited with code 1.`},
		"no command":  {"it has nothing to drop", "The pod is starting.", "The pod is starting."},
		"another run": {"a test may print anything", "Look: postflight runs logs smoke-2 -f", "Look: postflight runs logs smoke-2 -f"},
		"one":         {"nothing is left", "Look: " + logCommands(j, "p", "-f"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WithoutLogCommands(tc.message, j.Name); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWithoutPass: nothing is left of what the message of a run says of its pass, unless it says more than state, duration and results.
func TestWithoutPass(t *testing.T) {
	tested := func(change func(*results.Summary)) *results.Collected {
		c := &results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1, Tests: 9, Passed: 9}}}
		change(&c.Summary)
		return c
	}
	j := newJob(complete, keepsResults)
	none := func(*results.Summary) {}
	for name, tc := range map[string]struct {
		message string
		kept    bool
	}{
		"passed":            {passed(j, nil, tested(none), v1alpha1.DecidedByTests).Message, false},
		"with quarantined":  {passed(j, nil, tested(func(s *results.Summary) { s.Failed, s.Quarantined = 1, 1 }), v1alpha1.DecidedByTests).Message, false},
		"by its exit code":  {passed(j, nil, tested(none), v1alpha1.DecidedByExitCode).Message, true},
		"with failed tests": {passed(j, nil, tested(func(s *results.Summary) { s.Failed = 1 }), v1alpha1.DecidedByExitCode).Message, true},
		"with a summary":    {passed(j, []corev1.Pod{newPod(corev1.PodSucceeded, container("test", exitFor("Completed", 0, 40, "12 checks")))}, tested(none), v1alpha1.DecidedByTests).Message, true},
	} {
		want := ""
		if tc.kept {
			want = tc.message
		}
		if got := WithoutPass(tc.message); got != want || WithoutPass(tc.message+" And more.") == "" {
			t.Errorf("%s: %q of %q, want %q", name, got, tc.message, want)
		}
	}
}
