package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// TestFailedPosts: a post that a host refused is not repeated for the sake of another one, unless something changed that may help. Then,
// and once its pause is over, it comes last.
func TestFailedPosts(t *testing.T) {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	observed := func(generation int64, state metav1.Condition) report.Observation {
		s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1"}}
		s.Status.Conditions = []metav1.Condition{state}
		return report.Observation{Suite: s, Trigger: &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Generation: generation}}}
	}
	running := observed(1, v1alpha1.Running(""))
	key := client.ObjectKeyFromObject(running.Suite)
	m := &reportMemory{}
	m.begin(noon)
	first := func() report.Purpose { return m.inOrder(key)[0].purpose }
	if first() != report.Checks || m.pause(running, report.Checks, noon) != 0 {
		t.Error("a check that never failed does not come first, at once")
	}
	m.fail(running, report.Checks, noon.Add(time.Minute))
	for name, tc := range map[string]struct {
		o    report.Observation
		p    report.Purpose
		now  time.Time
		want time.Duration
	}{
		"the same":                {running, report.Checks, noon, time.Minute},
		"later":                   {running, report.Checks, noon.Add(time.Minute), 0},
		"another post":            {running, report.Comments, noon, 0},
		"the Trigger has changed": {observed(2, v1alpha1.Running("")), report.Checks, noon, 0},
		"the run has ended":       {observed(1, v1alpha1.Passed("")), report.Checks, noon, 0},
	} {
		if got := m.pause(tc.o, tc.p, tc.now); got != tc.want {
			t.Errorf("%s: it pauses for %s, want %s", name, got, tc.want)
		}
	}
	if got := m.inOrder(key); got[0].purpose != report.Comments || got[2].purpose != report.Checks {
		t.Errorf("the order is %v, want the check last", got)
	}
	m.succeed(key, report.Checks)
	if first() != report.Checks || len(m.failed) != 0 {
		t.Error("a check that was posted in the end does not come first again")
	}
	m.fail(running, report.Comments, noon.Add(time.Minute))
	if m.forget(key); len(m.failed) != 0 {
		t.Error("a run of which nothing is posted any more is remembered")
	}
}
