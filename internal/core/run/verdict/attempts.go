package verdict

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Deciding returns the run that decides what the runs of a test say together. There must be at least one.
func Deciding(runs []*v1alpha1.Suite) *v1alpha1.Suite { return decide(runs).Run }

// attempt is a run, and what it says.
type attempt struct {
	*v1alpha1.Suite
	says  State
	ended time.Time
}

// compareEnds orders attempts by their ends. Of two that ended in one second, the worse comes last.
func compareEnds(a, b attempt) int {
	return cmp.Or(a.ended.Compare(b.ended), slices.Index(severity, b.says)-slices.Index(severity, a.says),
		ledger.CompareRequests(a.Suite, b.Suite))
}

// decide returns what the runs of a test say together, whatever their age. A run that has not ended may say something else. Among those
// with a result, the last to end counts; of two in one second, the worse.
func decide(runs []*v1alpha1.Suite) Requirement {
	attempts := make([]attempt, len(runs))
	for i, s := range runs {
		attempts[i] = attempt{s, ofAttempt(s, runs), ended(s)}
	}
	slices.SortFunc(attempts, compareEnds)
	r := Requirement{State: None}
	for _, a := range attempts {
		switch a.says {
		case Passed:
			if r.State != Passed {
				r.Passing = a.ended
			}
			r.State, r.Run, r.Passed = Passed, a.Suite, a.ended
		case Failed:
			r.State, r.Run = Failed, a.Suite
		}
	}
	switch {
	case slices.ContainsFunc(attempts, func(a attempt) bool { return a.says == Running }):
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
