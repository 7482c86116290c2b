package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// State is how the pages name and draw the state of a run. Each icon has its own shape, so that colour is never the only sign.
type State struct {
	Reason string // of the Succeeded condition
	Label  string // as people write it
	Key    string // names the icon and the style class
	Ended  bool
	Bad    bool // the run ended, and needs a look
}

// NoRun is the state of a Trigger or an Environment that has never run.
var NoRun = State{Label: "No run yet", Key: "none"}

var states = map[string]State{
	v1alpha1.ReasonQueued:     {Label: "Queued", Key: "queued"},
	v1alpha1.ReasonStarting:   {Label: "Starting", Key: "starting"},
	v1alpha1.ReasonRunning:    {Label: "Running", Key: "running"},
	v1alpha1.ReasonPassed:     {Label: "Passed", Key: "passed"},
	v1alpha1.ReasonFailed:     {Label: "Failed", Key: "failed"},
	v1alpha1.ReasonTimedOut:   {Label: "Timed out", Key: "timedout"},
	v1alpha1.ReasonCanceled:   {Label: "Canceled", Key: "canceled"},
	v1alpha1.ReasonSuperseded: {Label: "Superseded", Key: "superseded"},
	v1alpha1.ReasonError:      {Label: "Error", Key: "error"},

	v1alpha1.ReasonInconclusive: {Label: "Inconclusive", Key: "inconclusive"},
}

// Quarantined is the Key of a run that passed with quarantined failures: it is not shown as a plain pass.
const Quarantined = "quarantined"

// StateOf returns the state of a run. One that the manager has not seen yet is queued.
func StateOf(s *v1alpha1.Suite) State {
	state := StateOfReason(s.State())
	if r := s.Status.Results; s.Passed() && r != nil && r.Quarantined > 0 {
		state.Label, state.Key = fmt.Sprintf("Passed, %d quarantined", r.Quarantined), Quarantined
	}
	return state
}

// StateOfReason returns the state that a reason of the Succeeded condition stands for.
func StateOfReason(reason string) State {
	reason = cmp.Or(reason, v1alpha1.ReasonQueued)
	state, known := states[reason]
	if !known { // of a later version
		state = State{Label: reason, Key: "none"}
	}
	state.Reason, state.Ended, state.Bad = reason, slices.Contains(v1alpha1.Ends(), reason), v1alpha1.EndedBadly(reason)
	return state
}

// States returns all states, in the order of a run's life.
func States() []State {
	var all []State
	for _, reason := range v1alpha1.States() {
		all = append(all, StateOfReason(reason))
	}
	return all
}
