// Package state has one row for each state that a run can have. Everything that names, draws, reports or counts states reads these rows.
package state

import (
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Row holds what is known of a state.
type Row struct {
	Reason string               // of the condition Succeeded
	Phase  v1alpha1.ReportPhase // of the check; empty for a state that only a later version knows
	Label  string               // on pages
	Key    string               // names the icon and the style class
	Icon   string               // SVG in a box of 20 by 20; each has its own shape, so that colour is never the only sign
	Colors Colors

	Conclusion Conclusion // as code hosts show it, each in its own words
	Weight     int        // the heaviest run of a deployment decides what code hosts show

	// The rest is about ends.

	Green        bool   // the tests pass with what was deployed; whether a commit is green, internal/core/run/verdict decides
	Result       bool   // the run says whether its tests pass with what was deployed
	Bad          bool   // people have to look at the run; those who canceled or superseded it know of it
	NoVerdict    bool   // the run says nothing about its deployment, nor about its tests
	WhyNoVerdict string // without a verdict: why, as a clause
	Gate         string // without a verdict: what a gate says instead of passed or failed, and exits with
	TestsDecided bool   // the verdict is that of the tests, so it is typical how long they took
	EndShown     Shown  // by the command line, after the wait for a run
	GroupedByWhy bool   // the figures of a team tell these runs apart by the beginning of their message

	Outcome   string // in checks; chats and figures write it in lower case
	CDEvent   string // the outcome of a testSuiteRun
	Trace     string // the result of the pipeline in the span of the run
	DecidedBy string // in the HTTP API; empty: the status of the Suite says it

	Figure func(*httpapi.InsightsPeriod) *int // counts these runs of a team; nil: they are counted as without a verdict
}

// Colors are those of the icon, and of the background of a label, in light and dark themes.
type Colors struct{ Light, LightSoft, Dark, DarkSoft string }

// Shown is what says most about an end in one line.
type Shown int

// What is shown of an end.
const (
	Tests   Shown = iota
	Message       // because a count of tests would read like a result
	MessageAndTests
)

// Conclusion is how a run ended, as far as code hosts tell ends apart. What has not ended is Pending: its phase says more.
type Conclusion int

// The conclusions.
const (
	Pending Conclusion = iota
	Success
	Failure
	Timeout
	Canceled
	Superseded
	Error
)

// Of returns the row of a reason. A state that only a later version knows is never green.
func Of(reason string) Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Reason == reason }); i >= 0 {
		return rows[i]
	}
	return Row{Reason: reason, Label: reason, Key: "none", Weight: 3, Conclusion: Error}
}

// Green returns the row of runs that passed.
func Green() Row { return rows[slices.IndexFunc(rows, func(r Row) bool { return r.Green })] }

// All returns the rows in the order in which a run may have the states.
func All() []Row { return slices.Clone(rows) }

// Ended reports whether a run in this state has ended. It is false for a state that only a later version knows, and so is Open.
func (r Row) Ended() bool { return r.Phase == v1alpha1.ReportCompleted }

// Open reports whether a run in this state has not ended.
func (r Row) Open() bool {
	return r.Phase == v1alpha1.ReportQueued || r.Phase == v1alpha1.ReportInProgress
}

// OutcomeInText returns the outcome as a part of a sentence.
func (r Row) OutcomeInText() string { return strings.ToLower(r.Outcome) }
