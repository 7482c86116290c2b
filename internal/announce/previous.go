package announce

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Previous is how the run of the same Trigger and Environment ended that ended last before a run; empty if there was none.
// Runs that were canceled or superseded do not count. The run may have been deleted since: then the outcomes that the
// Trigger remembers say how it ended.
func Previous(s *v1alpha1.Suite, runs []v1alpha1.Suite, outcomes []v1alpha1.EnvironmentOutcome) string {
	own := outcomeOf(s)
	last := v1alpha1.EnvironmentOutcome{}
	for _, o := range outcomes {
		switch {
		case o.Environment != s.Spec.Environment:
		case o.Suite == s.Name && o.PreviousState != "":
			return o.PreviousState
		case compare(o, own) < 0:
			last = o
		}
	}
	for i := range runs {
		if r := &runs[i]; counts(r) && sameTest(r, s) && compare(outcomeOf(r), own) < 0 && compare(outcomeOf(r), last) > 0 {
			last = outcomeOf(r)
		}
	}
	return last.State
}

// Outcomes are what a Trigger remembers: how the last run in each Environment ended. What it remembers already stays
// when runs are deleted.
func Outcomes(was []v1alpha1.EnvironmentOutcome, runs []v1alpha1.Suite) []v1alpha1.EnvironmentOutcome {
	last := map[string]v1alpha1.EnvironmentOutcome{}
	for _, o := range was {
		last[o.Environment] = o
	}
	for _, o := range ended(runs) {
		if before := last[o.Environment]; compare(before, o) < 0 {
			o.PreviousState = before.State
			last[o.Environment] = o
		}
	}
	var all []v1alpha1.EnvironmentOutcome
	for _, o := range last {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b v1alpha1.EnvironmentOutcome) int { return -compare(a, b) })
	all = all[:min(len(all), maxOutcomes)]
	slices.SortFunc(all, func(a, b v1alpha1.EnvironmentOutcome) int { return strings.Compare(a.Environment, b.Environment) })
	return all
}

// ended are the runs that count, in the order of their ends.
func ended(runs []v1alpha1.Suite) (all []v1alpha1.EnvironmentOutcome) {
	for i := range runs {
		if counts(&runs[i]) {
			all = append(all, outcomeOf(&runs[i]))
		}
	}
	slices.SortFunc(all, compare)
	return all
}

func counts(s *v1alpha1.Suite) bool { return s.Finished() && (s.Passed() || failed(s.State())) }

func sameTest(a, b *v1alpha1.Suite) bool {
	return a.Spec.Trigger.Name == b.Spec.Trigger.Name && a.Spec.Environment == b.Spec.Environment
}

func outcomeOf(s *v1alpha1.Suite) v1alpha1.EnvironmentOutcome {
	o := v1alpha1.EnvironmentOutcome{Environment: s.Spec.Environment, Suite: s.Name, State: s.State()}
	if s.Status.CompletionTime != nil {
		o.CompletionTime = *s.Status.CompletionTime
	}
	return o
}

// compare orders runs by their ends. Two of the same second are ordered by their names, so that the order stays.
func compare(a, b v1alpha1.EnvironmentOutcome) int {
	return cmp.Or(a.CompletionTime.UTC().Truncate(time.Second).Compare(b.CompletionTime.UTC().Truncate(time.Second)),
		strings.Compare(a.Environment, b.Environment), strings.Compare(a.Suite, b.Suite))
}
