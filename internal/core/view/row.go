package view

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
)

// Row is a run in a list.
type Row struct {
	ID, Namespace        string
	Trigger, Environment string
	Service              string // of the repository; empty: the whole
	State                State
	Why                  string // a sentence

	Branch string
	SHA    string // short
	Tests  *Tests

	Duration string // of the tests; empty before they start
	Received *Time
	Attempt  int32 // from 1
	Archived bool  // its Suite was deleted

	Cluster string // that has the run; empty: this one
	URL     string // of its page there
}

// RowOf returns the row of a run. Typical is how long runs of its Trigger take; 0 if that is unknown.
func RowOf(s *v1alpha1.Suite, typical time.Duration, now time.Time) Row {
	row := Row{
		ID: s.Name, Namespace: s.Namespace, Trigger: s.Spec.Trigger.Name, Environment: s.Spec.Environment,
		Service: s.Spec.Deployment.Service, State: StateOf(s), Branch: s.Spec.Deployment.Branch, SHA: commit.ShortSHA(s.Spec.Deployment.SHA),
		Attempt: max(s.Spec.Attempt, 1), Tests: TestsOf(s), Received: TimeOf(s.Received().Time, now),
	}
	if s.Status.StartTime != nil {
		row.Duration = Duration(Took(s, now))
	}
	row.Why = why(s, typical, now)
	return row
}

// Name is what ran, as the name of a check has it: a Trigger, and perhaps the service that it tested.
func (r Row) Name() string { return v1alpha1.TestName(r.Trigger, r.Service) }

// Took returns how long the tests of a run took, or have taken so far; 0 before they started.
func Took(s *v1alpha1.Suite, now time.Time) time.Duration {
	if s.Status.StartTime == nil {
		return 0
	}
	end := now
	if s.Status.CompletionTime != nil {
		end = s.Status.CompletionTime.Time
	}
	return max(0, end.Sub(s.Status.StartTime.Time))
}

func why(s *v1alpha1.Suite, typical time.Duration, now time.Time) string {
	if s.State() == v1alpha1.ReasonRunning && s.Status.StartTime != nil && !s.Spec.Cancel && s.Status.SupersededBy == "" {
		return runningSentence(Took(s, now), typical)
	}
	return failure.Summary(s)
}

func runningSentence(took, typical time.Duration) string {
	text := fmt.Sprintf("Running for %s", Duration(took))
	if typical > 0 {
		text += fmt.Sprintf("; the last runs took about %s", Roughly(typical))
	}
	return text + "."
}
