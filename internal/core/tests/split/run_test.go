package split_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
	"github.com/postflight-dev/postflight/test/build"
)

// ended is a run that ended with results, so many minutes after the others began.
func ended(name, environment string, minutes int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	at := metav1.NewTime(time.Date(2026, 11, 20, 18, minutes, 0, 0, time.UTC))
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	s.Spec.Trigger.Name, s.Spec.Environment = "e2e", environment
	s.Status.CompletionTime, s.Status.Results = &at, &v1alpha1.TestResults{}
	s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("")}
	return build.With(s, change...)
}

func TestCandidates(t *testing.T) {
	now := ended("now", "staging", 0)
	runs := []*v1alpha1.Suite{
		ended("elsewhere", "pr-7", 9), ended("older", "staging", 1), ended("newer", "staging", 2), now,
		ended("of another Trigger", "staging", 3, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "smoke" }),
		ended("without results", "staging", 4, func(s *v1alpha1.Suite) { s.Status.Results = nil }),
		ended("running", "staging", 5, func(s *v1alpha1.Suite) { s.Status.Conditions, s.Status.CompletionTime = nil, nil }),
	}
	names := func(runs []*v1alpha1.Suite) (all []string) {
		for _, r := range runs {
			all = append(all, r.Name)
		}
		return all
	}
	before := names(runs)
	if diff := cmp.Diff([]string{"newer", "older", "elsewhere"}, names(split.Candidates(now, runs))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, names(runs)); diff != "" {
		t.Errorf("the runs are shared, and were changed: %s", diff)
	}
	for i := range 40 {
		runs = append(runs, ended("more", "staging", 10+i))
	}
	if got := len(split.Candidates(now, runs)); got != 15 {
		t.Errorf("%d runs are looked at", got)
	}
}

func TestEnough(t *testing.T) {
	var runs []*split.Run
	for i := range 6 {
		if got := split.Enough(runs); got != (i >= 5) {
			t.Errorf("after %d runs: %t", i, got)
		}
		runs = append(runs, split.NewRun("of which nothing is known"), run("r", times{"a": 1}))
	}
}
