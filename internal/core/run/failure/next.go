package failure

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Next returns what to do about a run if only its Suite is known, the most promising first.
func Next(s *v1alpha1.Suite) []string { return next(Observation{Suite: s}) }

func next(o Observation) []string {
	s := o.Suite
	switch {
	case s.Status.RepeatedBy != "":
		return []string{fmt.Sprintf("Look at %s, which repeats this run: postflight runs why %[1]s -n %s.", s.Status.RepeatedBy, s.Namespace)}
	case !s.Finished():
		return unfinished(s)
	case verdict.RunPassed(s):
		return passed(s)
	}
	switch s.State() {
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
			"Take no result from it, whatever its tests said.",
			repeat(o, "If its commit is still deployed, repeat the run"),
			"Otherwise notify what is deployed there now.",
		}
	case v1alpha1.ReasonError:
		return broken(o)
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
	case s.Status.PodProblem != "" && s.State() != v1alpha1.ReasonRunning:
		return []string{
			"Fix what keeps its pod from starting. The run continues by itself then.",
			fmt.Sprintf("If it is not worth that, cancel the run: postflight runs cancel %s -n %s.", s.Name, s.Namespace),
		}
	case waitsForPerson(s):
		return []string{
			"Correct what the message names. The run continues by itself then.",
			fmt.Sprintf("Wait for its end: postflight wait %s.", s.Name),
		}
	case s.State() == v1alpha1.ReasonRunning:
		return []string{"Follow the tests: " + logs(s) + " -f."}
	default:
		return []string{fmt.Sprintf("Wait for its end: postflight wait %s.", s.Name)}
	}
}

// waitsForPerson reports whether the cluster lacks something that the run needs, such as an object or room in a quota.
func waitsForPerson(s *v1alpha1.Suite) bool {
	return slices.ContainsFunc([]string{v1alpha1.ConditionObjectsFound, v1alpha1.ConditionInputsReady, v1alpha1.ConditionJobAccepted},
		func(kind string) bool { return meta.IsStatusConditionFalse(s.Status.Conditions, kind) })
}

// broken is for a run without a result. What the cluster or a person stopped needs no change before it is repeated.
func broken(o Observation) []string {
	if strings.Contains(o.Suite.Succeeded().Message, results.RerunAdvice) {
		return []string{
			repeat(o, "Repeat the run, whose end says nothing about its commit"),
			"If the cluster stops runs often, set spec.retry.onError of the Trigger: Postflight repeats such runs then.",
		}
	}
	return []string{
		"Fix what the message names. The run says nothing about its commit: the tests did not run, or could not be judged.",
		repeat(o, "Then repeat the run"),
	}
}

func passed(s *v1alpha1.Suite) []string {
	all := []string{}
	r := s.Status.Results
	if s.Status.DecidedBy == v1alpha1.DecidedByExitCode {
		all = append(all, "Let the tests write a JUnit report, and set spec.results of the Trigger: without it, only the exit code shows that "+
			"they ran.")
	}
	if r == nil {
		return all
	}
	if r.Expected > 0 {
		all = append(all, fewer(s))
	}
	if r.Quarantined > 0 {
		all = append(all, fmt.Sprintf("Fix %s before the Quarantine ends: failures count from then on.",
			plaintext.Count(r.Quarantined, "quarantined test")))
	}
	if r.Flaky > 0 {
		all = append(all, "Look at its flaky tests: "+testsCommand(s)+".")
	}
	return all
}

func failed(o Observation) []string {
	s, r := o.Suite, o.Suite.Status.Results
	noTest := r == nil || r.Failed == 0 && r.Expected == 0
	var all []string
	switch {
	case outcome.KilledForMemory(s.Succeeded().Message):
		return []string{
			"Give the tests more memory, as the message says, or find out in the log what needs so much: " + logs(s) + ".",
			repeat(o, "Then repeat the run"),
		}
	case s.Status.DecidedBy == v1alpha1.DecidedByReport:
		return []string{
			"Find out in the log why there is no report that shows that the tests passed: " + logs(s) + ".",
			repeat(o, "Then repeat the run"),
		}
	case noTest && meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionResultsCollected) == nil:
		return []string{
			"Read the log: " + logs(s) + ".", repeat(o, "To see whether it lasts, repeat the run"),
			"Let the tests write a JUnit report, and set spec.results of the Trigger: then this document names the tests that failed, and " +
				"says since when.",
		}
	case noTest:
		all = append(all, "Read the log: "+logs(s)+".")
	case r.Failed == 0:
		all = append(all, fewer(s))
	case r.NewFailures > 0:
		all = append(all, "Start with the new failures, and with what was deployed since the run "+r.ComparedWith+", which did not have them.")
	case r.ComparedWith != "":
		all = append(all, "No failure is new: the run "+r.ComparedWith+" had them, too. To see since when they fail: "+testsCommand(s)+".")
	default:
		all = append(all, "Start with the first failure. It is unknown which failures are new.")
	}
	if mayRepeatFailed(o) {
		return append(all, "To see whether a failure lasts, repeat only the failed tests: "+rerun.FailedCommand(s)+".")
	}
	return append(all, repeat(o, "To see whether it lasts, repeat the run"))
}

// mayRepeatFailed reports whether a run of only the failed tests may be green: an earlier run has to show how many tests there are.
func mayRepeatFailed(o Observation) bool {
	return o.Changed != nil && !o.Archived && rerun.FailedProblem(o.Suite) == ""
}

// repeat ends a sentence with how to run all tests again.
func repeat(o Observation, sentence string) string {
	if o.Archived {
		return "Its Suite was deleted, so the run cannot be repeated. To test the commit again, deploy it, and notify."
	}
	return sentence + ": " + rerun.Command(o.Suite) + "."
}

func fewer(s *v1alpha1.Suite) string {
	r := s.Status.Results
	return fmt.Sprintf("Find out in the log why %s did not run: %s.", plaintext.Count(r.Expected-(r.Tests-r.Skipped), "test"), logs(s))
}

func testsCommand(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight tests list --trigger %s --environment %s", s.Spec.Trigger.Name, s.Spec.Environment)
}

func logs(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight runs logs %s -n %s", s.Name, s.Namespace)
}
