package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// TestHistoryOfReruns: a run counts once with its reruns, of failed tests or of all, and with its retries. The last result counts.
func TestHistoryOfReruns(t *testing.T) {
	attempt := func(id string, origin v1alpha1.Origin, state metav1.Condition, names ...string) *v1alpha1.Suite {
		var failures []v1alpha1.TestFailure
		for _, name := range names {
			failures = append(failures, failure(name, ""))
		}
		s := run(id, state, ran(0, time.Minute), results(v1alpha1.TestResults{Tests: 9, Failed: int32(len(names)), Failures: failures}))
		s.Spec.Origin, s.Spec.Deployment.SHA = origin, strings.TrimRight(id, "-abcdefghi")
		return s
	}
	deployed, again, retry := v1alpha1.OriginNotification, v1alpha1.OriginRerun, v1alpha1.OriginRetry
	onlyFailed := func(s *v1alpha1.Suite) *v1alpha1.Suite {
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "1"}
		return s
	}
	repeats := func(name string, s *v1alpha1.Suite) *v1alpha1.Suite {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRepeats, name)
		return s
	}
	flaky := func(s *v1alpha1.Suite) *v1alpha1.Suite {
		s.Status.Results.Flaky = 3
		return s
	}
	of := func(name string, s *v1alpha1.Suite) *v1alpha1.Suite {
		service(name)(s)
		return s
	}
	eight := []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("2", deployed, failed, "cart")}
	for i := range 8 {
		eight = append(eight, onlyFailed(attempt("2-"+string(rune('a'+i)), again, failed, "cart")))
	}
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite // oldest first
		want   string
	}{
		"failed tests, eight times": {"They are a part of their run.", eight, "0% 0 of 2 runs, 0 repeated, cart failed in 2 of 2 runs"},
		"of a run that is not here": {"It says nothing of the others.", []*v1alpha1.Suite{onlyFailed(attempt("1-a", again, failed, "cart")), attempt("2", deployed, passed)}, "100% 1 of 1 run, 0 repeated"},
		"failed tests, which pass":  {"The run passed when it was repeated.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), onlyFailed(attempt("1-a", again, passed))}, "100% 1 of 1 run, 1 repeated"},
		"all tests":                 {"The team asked twice.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("1-a", again, failed, "cart"), attempt("2", deployed, failed, "cart")}, "0% 0 of 2 runs, 0 repeated, cart failed in 2 of 2 runs"},
		"an error is retried":       {"The retry decides.", []*v1alpha1.Suite{attempt("1", deployed, v1alpha1.Error("The node is gone.")), attempt("1-a", retry, passed)}, "100% 1 of 1 run, 0 repeated"},
		"the rerun is superseded":   {"It has no result.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("1-a", again, superseded)}, "0% 0 of 1 run, 0 repeated"},
		"another service, meanwhile": {"A rerun is of its service.", []*v1alpha1.Suite{of("cart", attempt("1", deployed, failed, "cart")),
			of("mail", attempt("1-a", deployed, passed)), of("cart", attempt("1-b", again, passed))}, "100% 2 of 2 runs, 1 repeated"},
		"deployed twice": {"The first deployment is rerun.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("1-a", deployed, passed),
			onlyFailed(attempt("1-b", again, passed))}, "100% 2 of 2 runs, 1 repeated"},
		"a retry without a commit": {"It names its run.", []*v1alpha1.Suite{attempt("a", deployed, v1alpha1.Error("The node is gone.")), attempt("b", deployed, passed),
			repeats("a", attempt("c", retry, failed, "cart"))}, "50% 1 of 2 runs, 0 repeated"},
		"a rerun without a commit": {"Nothing shows what it repeats.", []*v1alpha1.Suite{attempt("a", deployed, passed), attempt("b", again, failed, "cart")}, "50% 1 of 2 runs, 0 repeated"},
		"repeated by its runner, then failed": {"It passed in the first attempt when it was repeated.", []*v1alpha1.Suite{flaky(attempt("1", deployed, failed, "cart")),
			onlyFailed(attempt("1-a", again, failed, "cart"))}, "0% 0 of 1 run, 1 repeated"},
		"many tests, repeated": {"Runs count, not tests.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart", "mail", "pay"), onlyFailed(attempt("1-a", again, failed, "pay"))},
			"0% 0 of 1 run, 1 repeated"},
		"failed fewer, and then more": {"", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart", "mail"), attempt("1-a", again, passed), attempt("1-b", again, failed, "cart")},
			"0% 0 of 1 run, 1 repeated"},
		"failed, passed, failed": {"The last outcome counts.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("1-a", again, passed), attempt("1-b", again, failed, "cart")}, "0% 0 of 1 run, 0 repeated"},
		"fails after it passed": {"It did not pass when it was repeated.", []*v1alpha1.Suite{attempt("1", deployed, passed), attempt("1-a", again, failed, "cart")},
			"0% 0 of 1 run, 0 repeated"},
		"the same commit, deployed": {"It is another run.", []*v1alpha1.Suite{attempt("1", deployed, failed, "cart"), attempt("1-a", deployed, passed)}, "50% 1 of 2 runs, 0 repeated"},
	} {
		slices.Reverse(tc.runs)
		h := view.HistoryOf(tc.runs, now)
		got := fmt.Sprintf("%s %s, %d repeated", h.PassRate, h.Passed, h.Repeated)
		for _, test := range h.Failing {
			got += ", " + test.Name + " " + test.Failed
		}
		if got != tc.want {
			t.Errorf("%s\n%s: %q, want %q", tc.reason, name, got, tc.want)
		}
	}
}
