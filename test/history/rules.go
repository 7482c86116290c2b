package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// oneRun: equal notifications have exactly one run, if one of them was accepted and no other run answers them, and at most one otherwise.
func oneRun(v *view) (all []Violation) {
	for identity, runs := range v.runs {
		if len(runs) > 1 {
			all = append(all, violation(identity, "has %d runs, such as %s and %s", len(runs), runs[0].ID, runs[1].ID))
		}
	}
	for identity, attempts := range v.attempts {
		if len(v.runs[identity]) == 0 && slices.ContainsFunc(attempts, v.accepted) {
			all = append(all, violation(identity, "was accepted, and has no run"))
		}
	}
	return all
}

// accepted reports whether there must be a run of the notification: none of before answers it.
func (v *view) accepted(a Attempt) bool {
	_, exists := v.run[a.Known]
	return a.Created != "" || a.Known != "" && !exists
}

func oneJob(v *view) (all []Violation) {
	for _, r := range v.Runs {
		if r.Jobs > 1 {
			all = append(all, violation(r.ID, "has had %d Jobs", r.Jobs))
		}
	}
	return all
}

func everyRunEnds(v *view) (all []Violation) {
	for _, r := range slices.Concat(v.Runs, v.Tested) {
		if !r.ended() {
			all = append(all, violation(r.ID, "is %s: %s", cmp.Or(r.State, "without a state"), r.Message))
		}
	}
	return all
}

// ended reports whether the state is an end; unknown states are not.
func (r Run) ended() bool { return slices.Contains(v1alpha1.Ends(), r.State) }

func endsAreFinal(v *view) (all []Violation) {
	for _, r := range slices.Concat(v.Runs, v.Tested) {
		switch {
		case len(r.Ends) > 1:
			all = append(all, violation(r.ID, "has ended as %q", r.Ends))
		case r.ended() && len(r.Ends) == 0:
			all = append(all, violation(r.ID, "is %s, and nobody saw it end", r.State))
		}
	}
	return all
}

// endsExplained: each end has a message, and follows from what happened to the tests.
func endsExplained(v *view) (all []Violation) {
	for _, r := range v.Runs {
		switch {
		case !r.ended():
		case r.Message == "":
			all = append(all, violation(r.ID, "is %s without a message", r.State))
		case !explained(r):
			all = append(all, violation(r.ID, "is %s, but its tests were %q: %s", r.State, r.Tests, r.Message))
		}
	}
	return all
}

// explained reports whether an end follows from what happened to the tests. Nobody cancels runs in a History. A run may be
// superseded although its tests have just ended, but not if they may still run on a lost node: its pods are never confirmed to be gone.
func explained(r Run) bool {
	switch r.State {
	case v1alpha1.ReasonPassed:
		return r.Tests == Passed
	case v1alpha1.ReasonFailed:
		return r.Tests == Failed || r.Tests == Reported
	case v1alpha1.ReasonSuperseded:
		return r.SupersededBy != "" && r.Tests != Lost
	case v1alpha1.ReasonInconclusive: // changedIfItSaysSo looks at the rest
		return r.Tests == Passed || r.Tests == Failed || r.Tests == Reported
	case v1alpha1.ReasonTimedOut, v1alpha1.ReasonError:
		return r.Tests == Lost
	default:
		return false
	}
}

// greenIsEvidence: a run that passed names tests that passed. Every run of a History has a report.
func greenIsEvidence(v *view) (all []Violation) {
	for _, r := range v.Runs {
		if r.State == v1alpha1.ReasonPassed && (r.PassedTests == 0 || r.DecidedBy != string(v1alpha1.DecidedByTests)) {
			all = append(all, violation(r.ID, "passed with %d passed tests, by %q", r.PassedTests, r.DecidedBy))
		}
	}
	return all
}

// oldIsAnnounced: an answer that names a run which ended before the notification was sent says when that was, and no other answer
// does.
func oldIsAnnounced(v *view) (all []Violation) {
	for _, a := range v.Attempts {
		r, exists := v.run[a.Known]
		switch {
		case !exists:
		case a.Ended.IsZero() && !r.Ended.IsZero() && r.Ended.Before(a.Sent.Add(-Tolerance)):
			all = append(all, violation(a.Identity, "was told of %s as if it continued, which had ended", r.ID))
		case !a.Ended.IsZero() && !a.Ended.Equal(r.CompletedAt):
			all = append(all, violation(a.Identity, "was told that %s had ended at %s, and it says %s", r.ID, a.Ended.UTC(), r.CompletedAt.UTC()))
		}
	}
	return all
}

// rightSupersede: only a run of the same stream, and not an earlier one, supersedes another.
func rightSupersede(v *view) (all []Violation) {
	for _, r := range v.Runs {
		if r.SupersededBy == "" {
			continue
		}
		switch by, exists := v.run[r.SupersededBy]; {
		case !exists:
			all = append(all, violation(r.ID, "was superseded by %s, which does not exist", r.SupersededBy))
		case by.Stream != r.Stream:
			all = append(all, violation(r.ID, "was superseded by %s of another stream", by.ID))
		case v.older(by.ID, r.ID):
			all = append(all, violation(r.ID, "was superseded by %s, which is older", by.ID))
		}
	}
	return all
}

// oneAtATime: the tests of two runs of a stream never run at once. Nobody knows when tests on a lost node stop.
func oneAtATime(v *view) (all []Violation) {
	for _, stream := range v.streams {
		ran := slices.DeleteFunc(slices.Clone(stream), func(r Run) bool { return r.Began.IsZero() || r.Tests == Lost })
		slices.SortFunc(ran, func(a, b Run) int { return a.Began.Compare(b.Began) })
		for i := 1; i < len(ran); i++ {
			if earlier := ran[i-1]; earlier.Stopped.IsZero() || ran[i].Began.Before(earlier.Stopped) {
				all = append(all, violation(ran[i].ID, "began before %s had stopped", earlier.ID))
			}
		}
	}
	return all
}

// truthfulAnswers: all answers to a notification name one run, which is of its commit, or the next attempt of one without a result. One
// answer says that it was created, and none if another says that there is no run.
func truthfulAnswers(v *view) (all []Violation) {
	created, told := map[string]int{}, map[string]string{}
	for _, a := range v.Attempts {
		id := cmp.Or(a.Created, a.Known)
		r, exists := v.run[id]
		switch {
		case id == "":
		case !exists:
			all = append(all, violation(a.Identity, "was told of %s, which does not exist", id))
		case r.Commit != a.Commit:
			all = append(all, violation(a.Identity, "was told of %s, which is a run of %s", id, r.Commit))
		case told[a.Identity] != "" && told[a.Identity] != id && !oneContinues(v.run[told[a.Identity]], r):
			all = append(all, violation(a.Identity, "was told of %s, and of %s", told[a.Identity], id))
		}
		if id != "" {
			told[a.Identity] = id
		}
		if a.Created != "" {
			created[a.Created]++
		}
		if a.Failure != "" && len(v.runs[a.Identity]) > 0 {
			all = append(all, violation(a.Identity, "has a run, but was told that it has none: %s", a.Failure))
		}
	}
	for id, n := range created {
		if n > 1 {
			all = append(all, violation(id, "was created according to %d answers", n))
		}
	}
	return all
}

// oneContinues takes either order, because answers overtake each other.
func oneContinues(a, b Run) bool { return continues(a, b) || continues(b, a) }

// continues reports whether one run was created after the other had ended without a result and was not superseded: a notification that
// found the other, and is sent again, starts another attempt then.
func continues(before, after Run) bool {
	ended := before.Ended.Truncate(time.Second)
	if before.CompletedAt.Before(ended) {
		ended = before.CompletedAt // it may have been seen late
	}
	end := state.Of(before.State)
	without := !before.Ended.IsZero() && !before.CompletedAt.IsZero() && !end.Result && before.State != v1alpha1.ReasonSuperseded
	return without && !after.Created.Before(ended)
}

// truthfulGates: a pipeline that was told an end was told the one that the run has.
func truthfulGates(v *view) (all []Violation) {
	for _, q := range v.Inquiries {
		if !q.Over {
			continue
		}
		r, exists := v.run[q.Run]
		canceled := state.Of(r.State).NoVerdict
		if !exists || q.Green != (r.State == v1alpha1.ReasonPassed) || q.Canceled != canceled {
			all = append(all, violation(q.Run, "is %q, but a pipeline was told green=%v canceled=%v", r.State, q.Green, q.Canceled))
		}
	}
	return all
}
