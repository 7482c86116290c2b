package failure

import (
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Next says what to do about a run of which only the Suite is known, the most promising first.
func Next(s *v1alpha1.Suite) []string { return next(Observation{Suite: s}) }

func next(o Observation) []string {
	s := o.Suite
	switch {
	case s.Status.RepeatedBy != "":
		return []string{fmt.Sprintf("Look at %s, which repeats this run: postflight runs why %[1]s -n %s.", s.Status.RepeatedBy, s.Namespace)}
	case !s.Finished():
		return unfinished(s)
	}
	switch s.State() {
	case v1alpha1.ReasonPassed:
		return passed(s)
	case v1alpha1.ReasonFailed:
		return failed(o)
	case v1alpha1.ReasonTimedOut:
		return []string{
			"Look for what the tests waited for at the end of the log: " + logs(s) + ".",
			"If they only need more time, raise spec.timeout of the Trigger, or divide the tests among several pods.",
			repeat(o, "Repeat it"),
		}
	case v1alpha1.ReasonSuperseded:
		if by := s.Status.SupersededBy; by != "" {
			return []string{fmt.Sprintf("Look at %s, which tests the newer deployment: postflight runs why %[1]s -n %s.", by, s.Namespace)}
		}
		return []string{"Look at the newer run of this Trigger and Environment: postflight runs list -n " + s.Namespace + "."}
	case v1alpha1.ReasonCanceled:
		return []string{repeat(o, "If this commit has to be tested, repeat the run")}
	case v1alpha1.ReasonInconclusive:
		return []string{
			"Take no result from it: the tests may have seen two versions.",
			repeat(o, "To test what is deployed now, repeat the run, or notify that deployment"),
		}
	case v1alpha1.ReasonError:
		return []string{
			"Fix what the first sentence names. It says nothing about the deployment: the tests did not run, or could not be judged.",
			repeat(o, "Then repeat the run"),
		}
	default:
		return []string{"Update this program: it does not know the state " + state.Of(s.State()).Label + "."}
	}
}

func unfinished(s *v1alpha1.Suite) []string {
	switch {
	case s.Spec.Cancel:
		return []string{"Wait until its pods have stopped. It was canceled."}
	case s.Status.SupersededBy != "":
		return []string{fmt.Sprintf("Look at %s, which takes its place.", s.Status.SupersededBy)}
	case s.Status.PodProblem != "":
		return []string{
			"Fix what keeps its pod from starting, or cancel the run: " + fmt.Sprintf("postflight runs cancel %s -n %s.", s.Name, s.Namespace),
		}
	case s.State() == v1alpha1.ReasonRunning:
		return []string{"Follow the tests: " + logs(s) + " -f."}
	default:
		return []string{fmt.Sprintf("Wait for its end: postflight wait %s -n %s.", s.Name, s.Namespace)}
	}
}

func passed(s *v1alpha1.Suite) []string {
	all := []string{}
	r := s.Status.Results
	if s.Status.DecidedBy == v1alpha1.DecidedByExitCode {
		all = append(all, "Let the tests write a JUnit report: without one, only the exit code shows that they ran.")
	}
	if r == nil {
		return all
	}
	if r.Expected > 0 {
		all = append(all, fmt.Sprintf("Find out why only %s ran, and %d are expected.", plaintext.Count(r.Tests-r.Skipped, "test"), r.Expected))
	}
	if r.Quarantined > 0 {
		all = append(all, fmt.Sprintf("Fix %s before the Quarantine ends.", plaintext.Count(r.Quarantined, "quarantined test")))
	}
	if r.Flaky > 0 {
		all = append(all, "Look at its flaky tests: postflight tests list --trigger "+s.Spec.Trigger.Name+" -n "+s.Namespace+".")
	}
	return all
}

func failed(o Observation) []string {
	s, r := o.Suite, o.Suite.Status.Results
	var all []string
	switch {
	case r == nil || r.Failed == 0 && r.Expected == 0:
		all = append(all, "Read the log: "+logs(s)+".")
	case r.Failed == 0:
		all = append(all, fmt.Sprintf("Find out why only %s ran, and %d are expected: %s.", plaintext.Count(r.Tests-r.Skipped, "test"),
			r.Expected, logs(s)))
	case r.NewFailures > 0:
		all = append(all, "Start with the new failures: they came with what was deployed since "+since(o)+".")
	case r.ComparedWith != "":
		all = append(all, "No failure is new: look for the deployment in which each began, which is not necessarily this one.")
	default:
		all = append(all, "Start with the first failure. It is unknown which failures are new.")
	}
	if rerun.FailedProblem(s) == "" && !o.Archived {
		return append(all, "To see whether a failure lasts, repeat only the failed tests: "+rerun.FailedCommand(s)+".")
	}
	return append(all, repeat(o, "To see whether it lasts, repeat the run"))
}

// since names the last run without the new failures.
func since(o Observation) string {
	if o.Changed != nil {
		return "the green run " + o.Changed.Run
	}
	return "the run " + o.Suite.Status.Results.ComparedWith
}

// repeat ends a sentence with how to run all tests again.
func repeat(o Observation, sentence string) string {
	if o.Archived {
		return sentence + ": its Suite was deleted, so deploy the commit again, and notify."
	}
	return sentence + ": " + rerun.Command(o.Suite) + "."
}

func logs(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight runs logs %s -n %s", s.Name, s.Namespace)
}
