package environment

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Required is a Trigger whose run must have passed.
type Required struct {
	Trigger  string
	Name     string // of the check: the Trigger, and perhaps a service
	Exists   bool   // the Trigger does
	State    view.State
	Message  string
	Failures []NewFailure
	More     int    // new failures that are not among them
	Run      string // that decides; empty: there is none
	At       *view.Time
	Ended    bool // the time is when it ended, and not when it was received
}

// NewFailure is a test that failed for the first time. Index is its place on the page of the run.
type NewFailure struct {
	Name  string
	Index int
}

const (
	maxNewFailures = 5   // of a Trigger: the page of its run has all of them
	maxTestName    = 200 // bytes: as much as fits two lines
)

func requiredOf(v verdict.Verdict) (all []Required) {
	for _, r := range v.Requirements {
		all = append(all, requirementOf(v, r))
	}
	return all
}

func requirementOf(v verdict.Verdict, r verdict.Requirement) Required {
	shown := Required{
		Trigger: r.Trigger, Name: v1alpha1.TestName(r.Trigger, plaintext.Line(r.Service, maxTestName)), State: stateOfRequired(r),
		Message: r.Message(), Exists: slices.ContainsFunc(v.Triggers, func(t *v1alpha1.Trigger) bool { return t.Name == r.Trigger }),
	}
	s := r.Run
	if s == nil {
		return shown
	}
	shown.Run, shown.At = s.Name, view.TimeOf(s.Received().Time, v.Now)
	if s.Status.CompletionTime != nil {
		shown.At, shown.Ended = view.TimeOf(s.Status.CompletionTime.Time, v.Now), true
	}
	if r.Problem == "" {
		shown.Message = view.RowOf(s, 0, v.Now).Why
	}
	if r.State == verdict.Failed || r.State == verdict.Withdrawn {
		shown.Failures, shown.More = newFailures(s)
	}
	if t := view.TestsOf(s); len(shown.Failures) > 0 && t.Failed > 0 { // the names follow
		shown.Message = plaintext.Share(int(t.Failed), int(t.Total), "test") + " failed."
	}
	return shown
}

// stateOfRequired is the state of the run where it says more than the verdict, such as Queued or Timed out. A withdrawn or stale result has
// a look of its own.
func stateOfRequired(r verdict.Requirement) view.State {
	if r.Run != nil && verdict.OfRun(r.Run) == r.State {
		return view.StateOf(r.Run)
	}
	return VerdictLookOf(r.State).State
}

func newFailures(s *v1alpha1.Suite) (all []NewFailure, more int) {
	tests := view.TestsOf(s)
	if tests == nil {
		return nil, 0
	}
	for i, f := range tests.Failures {
		if f.New && f.Quarantine == "" {
			all = append(all, NewFailure{plaintext.Line(f.Name, maxTestName), i})
		}
	}
	shown := min(len(all), maxNewFailures)
	return all[:shown], max(len(all), int(s.Status.Results.NewFailures)) - shown
}
