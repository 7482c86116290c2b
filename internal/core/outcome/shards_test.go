package outcome

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/results"
)

// TestShardWithoutFiles: it left an empty report, and passes beside a shard that has tests. If all are empty, nothing was tested.
func TestShardWithoutFiles(t *testing.T) {
	empty := collects(exitFor("Completed", 0, 50, results.Message(results.Summary{Counts: results.Counts{Reports: 1}})))
	for name, tc := range map[string]struct {
		second  func(*corev1.Pod)
		problem string
	}{
		"beside tests": {reports(0), ""},
		"alone":        {empty, "its reports list no tests"},
	} {
		c := Collect([]corev1.Pod{
			newPod(corev1.PodSucceeded, named("a"), index("0"), passes, empty),
			newPod(corev1.PodSucceeded, named("b"), index("1"), passes, tc.second),
		})
		if got := c.Judge(results.Requirement{}); !strings.HasPrefix(got.Problem, tc.problem) || (got.Problem == "") != (tc.problem == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
