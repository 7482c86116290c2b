package history

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Review is a deployment of a commit to production that waited on a code host for a decision. The commit must have passed in a place.
type Review struct {
	ID                        string
	Place, Repository, Commit string
	Decisions                 []Decision // that the code host accepted
}

// Decision is one about a deployment.
type Decision struct {
	Approved bool
	At       time.Time // when the code host got it
}

// decidedOnce: each deployment that waits is decided about, once.
func decidedOnce(v *view) (all []Violation) {
	for _, r := range v.Reviews {
		if n := len(r.Decisions); n != 1 {
			all = append(all, violation(r.ID, "of %s to production beyond %s has %d decisions", r.Commit, r.Place, n))
		}
	}
	return all
}

// approvedIsGreen: an approval comes while the last run of the commit has passed there, and none is under way. Times are as exact as
// Tolerance, so a run that ended at that moment may count or not. Commits with a restored run are left out: before, it was another run.
func approvedIsGreen(v *view) (all []Violation) {
	for _, r := range v.Reviews {
		runs := v.of(r)
		if slices.ContainsFunc(runs, func(run Run) bool { return run.Restored }) {
			continue
		}
		for _, d := range r.Decisions {
			if !d.Approved {
				continue
			}
			if i := slices.IndexFunc(runs, func(run Run) bool { return run.underWay(d.At) }); i >= 0 {
				all = append(all, violation(r.ID, "was approved at %s while %s was under way", d.At.UTC().Format(time.TimeOnly), runs[i].ID))
			} else if !green(runs, d.At) {
				all = append(all, violation(r.ID, "was approved at %s although the last run of %s in %s had not passed",
					d.At.UTC().Format(time.TimeOnly), r.Commit, r.Place))
			}
		}
	}
	return all
}

func (v *view) of(r Review) []Run {
	return slices.DeleteFunc(slices.Clone(v.Tested), func(run Run) bool {
		return run.Place != r.Place || run.Commit != r.Commit || run.Repository != r.Repository
	})
}

// underWay is false unless it is certain.
func (r Run) underWay(at time.Time) bool {
	return !r.Created.IsZero() && r.Created.Add(Tolerance).Before(at) && r.CompletedAt.After(at.Add(Tolerance))
}

// green reports whether a run may have passed by then, with none that had certainly failed after it.
func green(runs []Run, at time.Time) bool {
	return slices.ContainsFunc(runs, func(passed Run) bool {
		return passed.State == v1alpha1.ReasonPassed && !passed.CompletedAt.After(at.Add(Tolerance)) &&
			!slices.ContainsFunc(runs, func(failed Run) bool {
				return failed.verdictIsRed() && !failed.CompletedAt.Before(passed.CompletedAt) && failed.CompletedAt.Add(Tolerance).Before(at)
			})
	})
}

func (r Run) verdictIsRed() bool {
	return r.State == v1alpha1.ReasonFailed || r.State == v1alpha1.ReasonTimedOut
}
