package report

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Observation is what exists.
type Observation struct {
	Suite        *v1alpha1.Suite
	Trigger      *v1alpha1.Trigger // nil: it does not exist
	NewerAttempt string            // the name of a later Suite of the same Trigger, Environment and commit; empty: none
}

// Step is what to do next about the check of a run.
type Step struct {
	Post      bool // the check, to the Target
	Target    Target
	Condition *metav1.Condition // to write instead; nil: none
	After     time.Duration     // when to look again, if nothing changes before; 0: not
}

// Next writes a check at most three times, in the order of the phases. It skips phases that are over.
func Next(o Observation, now time.Time) Step {
	s := o.Suite
	if Settled(s, now) {
		return Step{}
	}
	if !Expected(s, o.Trigger) {
		return Step{} // a condition would be a write for each run
	}
	target, problem := TargetOf(s, o.Trigger)
	posted := PostedTo(s, target)
	if problem == nil && o.NewerAttempt != "" && posted.CheckID == 0 {
		_, problem = none(v1alpha1.ReasonNewerAttempt, "%s, a later run of this commit, reports instead.", o.NewerAttempt)
	}
	switch {
	case problem != nil && s.Finished():
		return Step{Condition: problem} // not before: it would be one more write while a burst of runs starts
	case problem != nil || !after(PhaseOf(s), posted.Phase):
		return Step{}
	}
	if wait := delay(s, now); wait > 0 {
		return Step{After: wait}
	}
	return Step{Post: true, Target: target}
}

// Expected reports whether users expect a check, or may see one that was posted before the Trigger changed.
func Expected(s *v1alpha1.Suite, t *v1alpha1.Trigger) bool {
	return !s.IsOf(t) || t.Spec.Repository != nil || s.Status.Report != nil
}

// Settled reports whether nothing is left to do: the outcome was posted, or it is too late for that.
func Settled(s *v1alpha1.Suite, now time.Time) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReported)
	if c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonNewerAttempt) {
		return true
	}
	return TooLate(s, now)
}

// TooLate reports whether nothing is posted any more. A restored run must not replace what was posted before.
func TooLate(s *v1alpha1.Suite, now time.Time) bool {
	return s.Restored() || s.Finished() && now.Sub(timeOf(s.Status.CompletionTime)) > giveUpAfter
}

// PostedTo returns what was posted to a target about the run.
func PostedTo(s *v1alpha1.Suite, t Target) v1alpha1.SuiteReport {
	if r := s.Status.Report; r != nil && r.HostingService == t.Host && commit.SameRepository(r.Repository, t.Repository) {
		return *r
	}
	return v1alpha1.SuiteReport{HostingService: t.Host, Repository: t.Repository}
}

func after(a, b v1alpha1.ReportPhase) bool { return rank(a) > rank(b) }

func rank(p v1alpha1.ReportPhase) int {
	return slices.Index([]v1alpha1.ReportPhase{"", v1alpha1.ReportQueued, v1alpha1.ReportInProgress, v1alpha1.ReportCompleted}, p)
}

func delay(s *v1alpha1.Suite, now time.Time) time.Duration {
	if PhaseOf(s) == v1alpha1.ReportQueued {
		return queuedAfter - now.Sub(s.CreationTimestamp.Time)
	}
	return 0
}

// Posted is the condition after a check was posted.
func Posted(c Check, t Target) metav1.Condition {
	where := fmt.Sprintf("The check %q of commit %.12s in %s on %s", c.Name, t.SHA, t.Repository, t.Host)
	if c.Phase == v1alpha1.ReportCompleted {
		return v1alpha1.Reported(where + " shows the outcome.")
	}
	return v1alpha1.ReportPending(where + " shows that the run has not ended.")
}
