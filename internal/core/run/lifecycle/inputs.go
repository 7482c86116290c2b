package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Inputs is the result of the search for the files of a run.
type Inputs struct {
	Invalid     string   // a sentence: why the run can never have its files
	NoStore     bool     // no store is configured
	Unavailable string   // a clause: why the store cannot be used at the moment
	Missing     []string // paths that the store does not have
	Found       []v1alpha1.SuiteInput
	Limit       int64 // of a file, in bytes; 0: none

	Directory string            // in every container
	Rewritten map[string]string // variables that name a file -> its absolute path
}

// problem returns why the run cannot have its files, as a sentence, or "".
func (found *Inputs) problem(team *v1alpha1.Team) string {
	switch {
	case found.NoStore:
		return "The run needs input files, and no store for files is configured. Ask the operator of Postflight to set --store-bucket and " +
			"--store-endpoint, and notify again."
	case len(found.Missing) > 0:
		quoted := make([]string, len(found.Missing))
		for i, path := range found.Missing {
			quoted[i] = fmt.Sprintf("%q", path)
		}
		return fmt.Sprintf("These input files are not among those of team %q: %s. Upload them before the notification, and notify again.",
			team.Name, strings.Join(quoted, ", "))
	case found.Invalid != "":
		return found.Invalid
	default:
		return found.tooLarge()
	}
}

// tooLarge finds files that the store could not refuse, because the request for their URL did not say how large they are.
func (found *Inputs) tooLarge() string {
	for _, f := range found.Found {
		if found.Limit > 0 && f.Size > found.Limit {
			return fmt.Sprintf("The input file %q has %s, and at most %s are accepted. Upload a smaller one, or ask the operator of Postflight "+
				"for a larger "+
				"--max-input-size, and notify again.", f.Path, plaintext.Bytes(f.Size), plaintext.Bytes(found.Limit))
		}
	}
	return ""
}

// The pauses between attempts to reach a store: short at first, for a restart.
const (
	storeRetryMin = time.Second
	storeRetryMax = 30 * time.Second
)

// waitsForInputs reports whether the store was unavailable when the files of the run were last looked for.
func waitsForInputs(s *v1alpha1.Suite) bool {
	return meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionInputsReady)
}

// waitForStore waits for as long as the run itself might take, but not from the notification: a run may have been queued for long.
func waitForStore(o Observation, now time.Time) Decision {
	waited, patience := now.Sub(since(o.Suite, v1alpha1.ConditionInputsReady, now)), o.Trigger.RunTimeout()
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(fmt.Sprintf(
			"The input files could not be looked up for %s, because the store cannot be used: %s. Notify again once it can.",
			plaintext.Duration(patience), o.Inputs.Unavailable))}
	}
	return Decision{
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for the store of the input files: %s. The run starts as soon as the store can be used, and ends as Error if that takes "+
				"longer than %s.", o.Inputs.Unavailable, plaintext.Duration(patience))),
		RequeueAfter: min(max(waited/4, storeRetryMin), storeRetryMax, patience-waited),
	}
}

func setInputs(s *v1alpha1.Suite, o Observation, now time.Time) {
	if setFailed(s, o, now) {
		return
	}
	if o.Failed != nil && o.Inputs == nil && waitsForInputs(s) {
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionInputsReady)
	}
	if o.Inputs == nil {
		return
	}
	found := o.Inputs
	switch {
	case found.Unavailable != "":
		setCondition(s, v1alpha1.StoreUnavailable(fmt.Sprintf("The store of the input files cannot be used: %s.", found.Unavailable)), now)
	case len(found.Found) > 0 && o.Job != nil:
		s.Status.Inputs = found.Found
		setCondition(s, v1alpha1.InputsFound("The input files were found, and are recorded in status.inputs."), now)
	case found.problem(o.Team) == "" && waitsForInputs(s):
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionInputsReady)
	}
}

// rerunsFailed reports whether a run repeats only failed tests, which have to be found first.
func rerunsFailed(o Observation) bool { return o.Suite.Spec.OnlyFailedOf != nil }

// waitForFailed waits for the store as for input files.
func waitForFailed(o Observation, now time.Time) Decision {
	waited, patience, run := now.Sub(since(o.Suite, v1alpha1.ConditionInputsReady,
		now)), o.Trigger.RunTimeout(), o.Suite.Spec.OnlyFailedOf.Name
	if waited >= patience {
		return Decision{Condition: v1alpha1.Error(
			fmt.Sprintf("The failed tests of the run %s could not be read for %s, because the store cannot be used: %s.%s",
				run, plaintext.Duration(patience), o.Failed.Unavailable, rerun.AllTestsAdvice(o.Suite)))}
	}
	return Decision{
		Condition: v1alpha1.Queued(
			fmt.Sprintf("Waiting for the store, which has the failed tests of the run %s: %s. The run starts as soon as the store can be used, "+
				"and ends as Error if that takes longer than %s.", run, o.Failed.Unavailable, plaintext.Duration(patience))),
		RequeueAfter: min(max(waited/4, storeRetryMin), storeRetryMax, patience-waited),
	}
}

// setFailed records since when the store of the failed tests is unavailable, and reports whether it is.
func setFailed(s *v1alpha1.Suite, o Observation, now time.Time) bool {
	if o.Failed == nil || o.Failed.Unavailable == "" {
		return false
	}
	setCondition(s, v1alpha1.StoreUnavailable(fmt.Sprintf("The store of the failed tests cannot be used: %s.", o.Failed.Unavailable)), now)
	return true
}
