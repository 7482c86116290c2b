package suite

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Inputs is what a look for the files of a run found.
type Inputs struct {
	Problem string // a sentence: why the run can never have them
	Waiting string // the end of one that starts with the store: why nobody can tell at the moment
	Found   []v1alpha1.SuiteInput
}

// The pauses between looks at a store that does not answer. The first are short, for a restart; the
// last bound how long a run waits for nothing once the store is back.
const (
	lookAgainMin = time.Second
	lookAgainMax = 30 * time.Second
)

// WaitsForInputs reports whether the store could not tell of the run's files when it was last asked.
func WaitsForInputs(s *v1alpha1.Suite) bool {
	return meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionInputsReady)
}

// startWithInputs starts a run that needs files. One that waits for them looks for them in the queue
// too: nobody waits behind it, and it takes its place again once it knows.
func startWithInputs(o Observation, now time.Time) Decision {
	switch in := o.Inputs; {
	case in == nil:
		return Decision{LookUpInputs: true, Condition: v1alpha1.Queued("The input files are being looked up.")}
	case in.Problem != "":
		return Decision{Condition: v1alpha1.Error(in.Problem)}
	case in.Waiting != "":
		return waitForStore(o, now)
	case o.Place > 0:
		return Decision{Condition: v1alpha1.Queued(placeMessage(o.Place))}
	default:
		return Decision{CreateJob: true}
	}
}

// waitForStore is patient for as long as the run itself might take.
func waitForStore(o Observation, now time.Time) Decision {
	// The Suite's own status is the only place that tells since when it waits. Counted from the
	// notification, a run that was queued for long would have no patience left.
	waited, patience := now.Sub(since(o.Suite, v1alpha1.ConditionInputsReady, now)), o.Trigger.RunTimeout()
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The input files could not be looked up for %s: the store of the files cannot be used, as %s. Notify again once it can.", brief(patience), o.Inputs.Waiting))}
	}
	return Decision{
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the store of the input files: %s. The run starts as soon as it can be used, and ends as Error if that takes longer than %s.", o.Inputs.Waiting, brief(patience))),
		Again: min(max(waited/4, lookAgainMin), lookAgainMax, patience-waited),
	}
}

// brief is 30m for 30m0s.
func brief(d time.Duration) string {
	if text, ok := strings.CutSuffix(d.String(), "m0s"); ok {
		return text + "m"
	}
	return d.String()
}

// setInputs records the files of a run whose Job exists, or that they are waited for, or no longer.
func setInputs(s *v1alpha1.Suite, o Observation, now time.Time) {
	if o.Inputs == nil {
		return
	}
	switch in := o.Inputs; {
	case in.Waiting != "":
		setCondition(s, v1alpha1.StoreUnavailable(fmt.Sprintf("The store of the input files cannot be used: %s.", in.Waiting)), now)
	case len(in.Found) > 0 && o.Job != nil:
		s.Status.Inputs = in.Found
		setCondition(s, v1alpha1.InputsFound("The input files were found, and are recorded in status.inputs."), now)
	case in.Problem == "" && WaitsForInputs(s):
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionInputsReady)
	}
}
