package verdict

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// State is what a verdict says. Its values are those of the HTTP API.
type State string

// The states.
const (
	Passed    State = httpapi.VerdictPassed
	Failed    State = httpapi.VerdictFailed
	Running   State = httpapi.VerdictRunning
	None      State = httpapi.VerdictNone
	Stale     State = httpapi.VerdictStale
	Withdrawn State = httpapi.VerdictWithdrawn
)

// OfRun returns what one run says about its commit: Passed, Failed, Running, or None if it ended without a result. A state that only a
// later version knows is never green.
func OfRun(s *v1alpha1.Suite) State {
	switch {
	case !s.Finished():
		return Running
	case state.Of(s.State()).NoVerdict, s.Retried():
		return None
	case s.Succeeded().Status == metav1.ConditionTrue && state.Of(s.State()).Green:
		return Passed
	default:
		return Failed
	}
}

// RunPassed reports whether a run passed.
func RunPassed(s *v1alpha1.Suite) bool { return OfRun(s) == Passed }

// Worst returns what several verdicts say together. None of them is None, because nothing was tested.
func Worst(all ...State) State {
	if len(all) == 0 {
		return None
	}
	return slices.MinFunc(all, func(a, b State) int { return slices.Index(severity, a) - slices.Index(severity, b) })
}
