package outcome

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
