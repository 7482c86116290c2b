package view_test

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func failure(name string, history v1alpha1.FailureHistory) v1alpha1.TestFailure {
	return v1alpha1.TestFailure{Name: name, History: history}
}

func TestWhy(t *testing.T) {
	cases := map[string]struct {
		reason  string
		suite   *v1alpha1.Suite
		typical time.Duration
		want    string
	}{
		"Before the manager saw it": {"There is no condition yet.", &v1alpha1.Suite{}, 0, "Received. The run waits until Postflight's leader has seen it."},
		"Queued":                    {"The condition says what it waits for.", run("a", v1alpha1.Queued("Waiting for a slot.")), 0, "Waiting for a slot."},
		"Running":                   {"People want to know how long it takes.", run("a", running, started(8*time.Minute)), 4 * time.Minute, "Running for 2m 00s; the last runs took about 4m."},
		"First run":                 {"There are no others to compare with.", run("a", running, started(9*time.Minute)), 0, "Running for 1m 00s."},
		"Being stopped":             {"That is more important.", run("a", v1alpha1.Running("Canceled. Stopping the pods."), started(0), func(s *v1alpha1.Suite) { s.Spec.Cancel = true }), 0, "Canceled. Stopping the pods."},
		"Failed without results":    {"The condition is all there is.", run("a", failed), 0, "The tests failed with exit code 1."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := view.RowOf(tc.suite, tc.typical, now).Why; got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestEveryStateHasAName(t *testing.T) {
	keys := map[string]bool{}
	for _, s := range view.States() {
		if s.Label == "" || s.Key == "none" || keys[s.Key] {
			t.Errorf("%s has no name or icon of its own: %+v", s.Reason, s)
		}
		keys[s.Key] = true
	}
	if len(keys) != len(v1alpha1.States()) {
		t.Errorf("there are %d states, and %d in the API", len(keys), len(v1alpha1.States()))
	}
}
