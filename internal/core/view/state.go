package view

import (
	"cmp"
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// State is how the pages name and draw the state of a run.
type State struct {
	Reason string // of the Succeeded condition
	Label  string // as people write it
	Key    string // names the icon and the style class
	Ended  bool
	Green  bool // the run passed
	Bad    bool // the run ended, and needs a look

	NoVerdict bool // the run ended, and says nothing about its deployment
}

// NoRun is the state of a Trigger or an Environment that has never run.
var NoRun = State{Label: "No run yet", Key: "none"}

// NotWorking is the state of a Trigger that is not Ready.
var NotWorking = State{Label: "Does not work", Key: "error", Bad: true}

// Quarantined is the Key of a run that passed with quarantined failures: it is not shown as a plain pass.
const Quarantined = "quarantined"

// StateOf returns the state of a run. One that the manager has not seen yet is queued.
func StateOf(s *v1alpha1.Suite) State {
	shown := StateOfReason(s.State())
	if r := s.Status.Results; shown.Green && r != nil && r.Quarantined > 0 {
		shown.Label, shown.Key = fmt.Sprintf("Passed, %d quarantined", r.Quarantined), Quarantined
	}
	return shown
}

// byReason has all states, because pages ask for the states of thousands of runs.
var byReason = func() map[string]State {
	all := map[string]State{}
	for _, s := range States() {
		all[s.Reason] = s
	}
	return all
}()

// StateOfReason returns the state that a reason of the Succeeded condition stands for.
func StateOfReason(reason string) State {
	reason = cmp.Or(reason, v1alpha1.ReasonQueued)
	if known, ok := byReason[reason]; ok {
		return known
	}
	return stateOf(state.Of(reason))
}

func stateOf(r state.Row) State {
	return State{Reason: r.Reason, Label: r.Label, Key: r.Key, Ended: r.Ended(), Green: r.Green, Bad: r.Bad, NoVerdict: r.NoVerdict}
}

// States returns all states, in the order of a run's life.
func States() (all []State) {
	for _, row := range state.All() {
		all = append(all, stateOf(row))
	}
	return all
}
