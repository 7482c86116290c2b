package verdict_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestModel plays random histories of one commit. It judges them by looking at one run after the other in the order of their ends, as a
// person would, and knows nothing of the package.
func TestModel(t *testing.T) {
	tier.PinRapid(t)
	all := []string{"smoke", "e2e", "visual"}
	rapid.Check(t, func(t *rapid.T) {
		q := asked(question(history(t, all)...), maxAge(30*time.Minute))
		q.Triggers = nil
		for _, name := range all {
			if rapid.Float64Range(0, 1).Draw(t, name) < 0.8 {
				q.Triggers = append(q.Triggers, trigger(name))
			}
		}
		want := len(q.Suites) > 0
		required := 0
		for _, tr := range q.Triggers {
			last, open, sibling := judged(q.Suites, tr.Name)
			if last == nil && !open && !sibling {
				continue
			}
			required++
			want = want && !open && last != nil && last.State() == v1alpha1.ReasonPassed && !last.Status.CompletionTime.Time.Before(at(30))
		}
		if v := verdict.Of(q); (v.State == verdict.Passed) != (want && required > 0) {
			t.Errorf("%s, want green: %v", drawn(v), want)
		}
	})
}

// judged returns the last run of a Trigger to end with a result, whether one has not ended, and whether the Trigger matched.
func judged(runs []*v1alpha1.Suite, trigger string) (last *v1alpha1.Suite, open, sibling bool) {
	for _, s := range runs {
		for _, name := range s.Spec.Siblings {
			sibling = sibling || name == trigger
		}
		if s.Spec.Trigger.Name != trigger {
			continue
		}
		sibling = true
		switch s.State() {
		case v1alpha1.ReasonQueued, v1alpha1.ReasonRunning:
			open = true
		case v1alpha1.ReasonCanceled, v1alpha1.ReasonSuperseded, v1alpha1.ReasonInconclusive:
		default:
			if last == nil || s.Status.CompletionTime.After(last.Status.CompletionTime.Time) ||
				s.Status.CompletionTime.Equal(last.Status.CompletionTime) && s.State() != v1alpha1.ReasonPassed {
				last = s
			}
		}
	}
	return last, open, sibling
}

func history(t *rapid.T, triggers []string) (runs []*v1alpha1.Suite) {
	ends := []metav1.Condition{passed, passed, passed, passed, failed, timedOut, anError, canceled, superseded, inconclusive, running, queued}
	for i := range rapid.IntRange(0, 8).Draw(t, "runs") {
		s := run(fmt.Sprint("run-", i), rapid.IntRange(0, 40).Draw(t, "requested"), rapid.SampledFrom(ends).Draw(t, "end"),
			of(rapid.SampledFrom(triggers).Draw(t, "Trigger")))
		if s.Finished() {
			endedIn(rapid.IntRange(20, 50).Draw(t, "ended"))(s)
		}
		if rapid.Bool().Draw(t, "with siblings") {
			siblings(rapid.SampledFrom(triggers).Draw(t, "sibling"))(s)
		}
		runs = append(runs, s)
	}
	return runs
}
