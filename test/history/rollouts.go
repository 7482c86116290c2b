package history

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// oneRunPerRollout: no commit has more runs than complete rollouts, apart from repetitions, none has a run that was not rolled out, and the
// one that is left has been tested. A manager that is down sees only the last of several rollouts.
func oneRunPerRollout(v *view) (all []Violation) {
	rollouts, runs := map[string]int{}, map[string]int{}
	for _, o := range v.Rollouts {
		if !o.Completed.IsZero() {
			rollouts[o.Commit]++
		}
	}
	for _, r := range v.Runs {
		if !r.Rolled || r.Repeats != "" {
			continue
		}
		if runs[r.Commit]++; runs[r.Commit] > rollouts[r.Commit] {
			all = append(all, violation(r.ID, "is run %d of %s, which was rolled out %d times", runs[r.Commit], r.Commit, rollouts[r.Commit]))
		}
	}
	if n := len(v.Rollouts); n > 0 && runs[v.Rollouts[n-1].Commit] == 0 && !v.Rollouts[n-1].Completed.IsZero() && !v.takenBack() {
		all = append(all, violation(v.Rollouts[n-1].Commit, "is deployed at the end, and was never tested"))
	}
	return all
}

// takenBack reports whether what is left was there before all rollouts of which anything is known.
func (v *view) takenBack() bool {
	last := v.Rollouts[len(v.Rollouts)-1].Commit
	return !slices.ContainsFunc(v.Rollouts, func(o Rollout) bool { return o.Commit != last && !o.Completed.IsZero() })
}

// oneVersion: a run has no verdict if something was rolled out while its tests ran.
func oneVersion(v *view) (all []Violation) {
	for _, r := range v.Runs {
		if !r.Rolled || r.State != v1alpha1.ReasonPassed && r.State != v1alpha1.ReasonFailed {
			continue
		}
		for _, o := range v.Rollouts {
			if o.Sent.After(r.Began) && o.Changed.Before(r.Stopped) {
				all = append(all, violation(r.ID, "is %s, and %s was rolled out while its tests ran", r.State, o.Commit))
			}
		}
	}
	return all
}

// changedIfItSaysSo: an Inconclusive run had a rollout, or a notification of another commit of its stream, between its creation and its
// end, and its repetition is not repeated.
func changedIfItSaysSo(v *view) (all []Violation) {
	for _, r := range v.Runs {
		if r.State == v1alpha1.ReasonInconclusive && !v.changed(r) {
			all = append(all, violation(r.ID, "is %s, and nothing was deployed: %s", r.State, r.Message))
		}
		if by, exists := v.run[r.Repeats]; r.Repeats != "" && (!exists || by.Repeats != "" || by.Commit != r.Commit ||
			by.State != v1alpha1.ReasonInconclusive) {
			all = append(all, violation(r.ID, "repeats %s, which is %q and repeats %q", r.Repeats, by.State, by.Repeats))
		}
	}
	return all
}

func (v *view) changed(r Run) bool {
	if !r.Rolled {
		return slices.ContainsFunc(v.Attempts, func(a Attempt) bool {
			return a.Stream == r.Stream && a.Commit != r.Commit && a.Sent.Before(r.Ended) && a.Answered.After(r.Created.Add(-Tolerance))
		})
	}
	return slices.ContainsFunc(v.Rollouts, func(o Rollout) bool {
		return o.Sent.Before(r.Ended) && (o.Completed.IsZero() || o.Completed.After(r.Created.Add(-Tolerance)))
	})
}
