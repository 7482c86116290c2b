package verdict

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Deciding returns the run that decides what the runs of a test say together. There must be at least one.
func Deciding(runs []*v1alpha1.Suite) *v1alpha1.Suite { return decide(slices.Clone(runs)).Run }

// decide returns what the runs of a test say together, whatever their age. A run that has not ended may say something else. Among those
// with a result, the last to end counts; of two in one second, the worse.
func decide(runs []*v1alpha1.Suite) Requirement {
	says := func(s *v1alpha1.Suite) State { return ofAttempt(s, runs) }
	slices.SortFunc(runs, func(a, b *v1alpha1.Suite) int {
		return cmp.Or(ended(a).Compare(ended(b)), slices.Index(severity, says(b))-slices.Index(severity, says(a)), ledger.CompareRequests(a, b))
	})
	r := Requirement{State: None}
	for _, s := range runs {
		switch says(s) {
		case Passed:
			if r.State != Passed {
				r.Passing = ended(s)
			}
			r.State, r.Run, r.Passed = Passed, s, ended(s)
		case Failed:
			r.State, r.Run = Failed, s
		}
	}
	switch {
	case slices.ContainsFunc(runs, func(s *v1alpha1.Suite) bool { return !s.Finished() }):
		r.State, r.Run = Running, unfinished(runs)
	case r.State == None:
		r.Run = slices.MaxFunc(runs, ledger.CompareRequests)
	case r.State == Failed && !r.Passed.IsZero():
		r.State = Withdrawn
	}
	return r
}

// ofAttempt is OfRun among the runs of a test: the retry of an error counts, unless it was deleted.
func ofAttempt(s *v1alpha1.Suite, runs []*v1alpha1.Suite) State {
	if s.Retried() && !slices.ContainsFunc(runs, func(other *v1alpha1.Suite) bool { return other.Name == s.Status.RepeatedBy }) {
		return Failed
	}
	return OfRun(s)
}

func unfinished(runs []*v1alpha1.Suite) *v1alpha1.Suite {
	open := slices.DeleteFunc(slices.Clone(runs), func(s *v1alpha1.Suite) bool { return s.Finished() })
	return slices.MaxFunc(open, ledger.CompareRequests)
}

func ended(s *v1alpha1.Suite) time.Time {
	if s.Status.CompletionTime == nil {
		return time.Time{}
	}
	return s.Status.CompletionTime.Time
}

// freshness tells a result that counts from a stale one, given all runs of the test.
func (q Question) freshness(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (State, string) {
	maxAge := q.maxAge()
	switch {
	case s.Status.CompletionTime == nil:
		return None, "It is not known when the run ended."
	case maxAge > 0 && q.Now.Sub(ended(s)) > maxAge:
		return Stale, tooOld(ended(s), maxAge, q.Now)
	case deployedOther(s, runs):
		return Stale, "The commit was deployed again since, with another URL, other variables or other files, which no run has tested."
	default:
		return Passed, ""
	}
}
