package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const endedMessage = "The tests have ended."

// failedTestsPassed lets a run that repeated only failed tests pass only if all of these passed. What it repeats is in its Job, from which
// somebody may have removed it.
func failedTestsPassed(o Observation, end Decision, _ time.Time) *Decision {
	if !rerunsFailed(o) || end.Condition.Reason != v1alpha1.ReasonPassed {
		return nil
	}
	first, p := o.Suite.Spec.OnlyFailedOf.Name, o.Plan
	switch {
	case p == nil || p.Of != first || o.Collected == nil || o.DecidedBy == v1alpha1.DecidedByExitCode:
		return end.ending(v1alpha1.Inconclusive(fmt.Sprintf("Nobody knows any more which failed tests of the run %s were repeated.%s", first,
			rerun.AllTestsAdvice(o.Suite))))
	case p.Unshown(o.Collected.Summary.RerunPassed) != "":
		return end.ending(v1alpha1.Failed(p.Unshown(o.Collected.Summary.RerunPassed)))
	default:
		return end.ending(v1alpha1.Passed(p.Whole() + " " + end.Condition.Message))
	}
}

// allTestsRan lets a run fail that passes so far, if it may not have run all its tests. A run that repeats failed tests has to show each of
// them.
func allTestsRan(o Observation, end Decision, now time.Time) *Decision {
	if end.Condition.Reason != v1alpha1.ReasonPassed || rerunsFailed(o) {
		return nil
	}
	n := expected(o)
	switch {
	case o.Killed != "" && o.PassedBefore == nil:
		return end.ending(v1alpha1.Failed(
			o.Killed + " Nothing shows that all tests ran: no run of this Trigger, Environment and variables has passed."))
	case o.Killed != "" && o.Tests.Unavailable != "":
		return retryComparison(o, now, fmt.Sprintf("%s The store is asked whether all tests ran, and cannot be used: %s.", o.Killed,
			o.Tests.Unavailable))
	case o.Killed != "" && !o.Tests.Done:
		return &Decision{Action: CompareTests, Condition: v1alpha1.Running(endedMessage)}
	case o.Killed != "" && o.Tests.Missing != "":
		return end.ending(v1alpha1.Failed(fmt.Sprintf("%s Some tests of %s, the last run that passed, may not have run: %s.", o.Killed,
			o.PassedBefore.Name, o.Tests.Missing)))
	case o.Killed != "":
		return end.ending(v1alpha1.Passed(fmt.Sprintf("%s %s All tests of %s, the last run that passed, ran.", end.Condition.Message, o.Killed,
			o.PassedBefore.Name)))
	case n > 0 && o.Required.Fewer.Policy == v1alpha1.FewerTestsFail:
		return end.ending(v1alpha1.Failed("Far fewer tests ran than before, and results.fewerTests of the Trigger is Fail. " + farFewer(o, n) +
			" If fewer are intended, set it to Report for one run."))
	default:
		return nil
	}
}

// retryComparison waits for what a run is compared with. Nobody notifies that it can be read again.
func retryComparison(o Observation, now time.Time, problem string) *Decision {
	return &Decision{
		Condition:    v1alpha1.Running(fmt.Sprintf("%s %s It is tried again.", endedMessage, problem)),
		RequeueAfter: min(max(sinceJobEnded(o, now)/4, createRetryMin), createRetryMax),
	}
}

// nothingElseDeployed makes a run Inconclusive that passed, if something else was deployed to its place since its tests began: some of them
// may have tested that. Where workloads are of its repository, workloadsUnchanged decides.
func nothingElseDeployed(o Observation, end Decision, _ time.Time) *Decision {
	switch {
	case end.Condition.Reason != v1alpha1.ReasonPassed:
		return nil
	case !o.Complete:
		return read(CompleteLedger)
	case o.Ledger.Removed(o.Suite):
		return end.ending(v1alpha1.Inconclusive(
			fmt.Sprintf("The tests passed, but the Environment %s was deleted and created again before they ended. "+
				"Notify what is deployed there now.", o.Suite.Spec.Environment)))
	}
	to := jobEnd(o)
	if !to.IsZero() {
		to = to.Add(time.Second) // it has whole seconds
	}
	other := o.Ledger.Interrupted(o.Suite, testsBeganAfter(o), to, len(o.UnderTest.Start) > 0)
	if other == nil {
		return nil
	}
	return end.ending(v1alpha1.Inconclusive(
		fmt.Sprintf("The tests passed, but %s was deployed to %s before they ended, so that they may have tested that. %s",
			suite.CommitName(other.Commit), o.Suite.Spec.Environment, rerun.Advice(o.Suite, other))))
}

func read(action Action) *Decision {
	return &Decision{Action: action, Condition: v1alpha1.Running(endedMessage)}
}

// workloadsUnchanged makes a run Inconclusive if what it tested changed, or never was what was notified.
func workloadsUnchanged(o Observation, end Decision, now time.Time) *Decision {
	verdict := state.Of(end.Condition.Reason).Result
	switch {
	case !verdict || len(o.UnderTest.Start) == 0:
		return nil
	case o.UnderTest.Unreadable != "":
		return retryComparison(o, now, o.UnderTest.Unreadable)
	case o.UnderTest.Tested == nil:
		return &Decision{Action: CompareWorkloads, Condition: v1alpha1.Running(endedMessage)}
	case o.UnderTest.Tested.Changed != "":
		return workloadsChanged(o, end, now)
	case o.UnderTest.Another != "":
		return end.ending(v1alpha1.Inconclusive("What was tested is not what was notified: " + o.UnderTest.Another +
			" Let the Trigger wait for its version, with ready: {}, and notify again."))
	default:
		return nil
	}
}

// workloadsChanged records what changed with the first step, so that a later look at the Environment cannot make this run pass.
func workloadsChanged(o Observation, end Decision, now time.Time) *Decision {
	if o.Ledger == nil {
		return read(ReadLedger)
	}
	step, why := successor(o, noSuccessor(o), now)
	if step != nil {
		step.Condition = v1alpha1.Running(endedMessage)
		return step
	}
	why = cmp.Or(why, "The run "+o.Successor.Run+" repeats it.")
	return end.ending(v1alpha1.Inconclusive("What was tested changed meanwhile: " + o.UnderTest.Tested.Changed + " " + why))
}

// noSuccessor returns why an Inconclusive run is not repeated, as a sentence, or "".
func noSuccessor(o Observation) string {
	there := rerun.Obstacle(o.Suite, o.Ledger)
	newer := supersededBy(o)
	switch {
	case newer != "":
		return "It is not repeated, because " + newer + " tests a newer deployment."
	case Unwanted(o):
		return "It is not repeated, because it was to be stopped."
	case o.UnderTest.Gone:
		return "It is not repeated, because its Environment was deleted."
	case o.UnderTest.Moved:
		return "It is not repeated, because another commit was deployed: the run of that one counts, if it was notified."
	case there != "":
		return "It is not repeated, because " + there + "."
	case o.Suite.FollowsInconclusive():
		return "It repeated a run already. Wait until the deployments have settled, and notify again."
	default:
		return ""
	}
}

// retried repeats a run that the cluster ended, and not its tests, as often as its Trigger says.
func retried(o Observation, end Decision, now time.Time) *Decision {
	limit, retries := o.Trigger.RetriesOnError(), o.Suite.Retries()
	switch {
	case end.Condition.Reason != v1alpha1.ReasonError || !end.Interrupted || limit == 0 || anyFailed(o):
		return nil
	case o.Ledger == nil:
		return read(ReadLedger)
	}
	refusal := notRetried(o, limit)
	if wait := backoff(o, now); refusal == "" && wait > 0 {
		return &Decision{RequeueAfter: wait, NotStarted: end.NotStarted, Condition: v1alpha1.Starting(fmt.Sprintf(
			"%s Retry %d of %d follows within %s.", end.Condition.Message, retries+1, limit, plaintext.Duration(backoffOf(retries))))}
	}
	step, why := successor(o, refusal, now)
	switch {
	case step != nil:
		step.Condition, step.NotStarted = v1alpha1.Running(end.Condition.Message), end.NotStarted
		if end.NotStarted != "" {
			step.Condition.Reason = v1alpha1.ReasonStarting // it never ran
		}
		return step
	case why != "":
		return end.ending(v1alpha1.Error(outcome.WithAdvice(end.Condition, end.Advice).Message + " " + why))
	default:
		return end.ending(v1alpha1.Error(fmt.Sprintf("%s The run %s is retry %d of %d.",
			end.Condition.Message, o.Successor.Run, retries+1, limit)))
	}
}

// How long a run waits before it is repeated because its image could not be pulled: registries that are restarted, or that limit pulls,
// need more than seconds, and the run keeps its slot meanwhile. After other errors there is no wait: Kubernetes keeps new pods off a node
// that is drained, short of memory or unreachable.
const (
	pullBackoffMin = 30 * time.Second
	pullBackoffMax = 2 * time.Minute
)

// anyFailed reports whether a test failed before the run was interrupted, and not in quarantine. Failures are never repeated.
func anyFailed(o Observation) bool {
	return o.Collected != nil && o.Collected.Summary.Failed > o.Collected.Summary.Quarantined
}

// notRetried returns why an interrupted run is not repeated, as a sentence, or "".
func notRetried(o Observation, limit int32) string {
	there := rerun.Obstacle(o.Suite, o.Ledger)
	newer := supersededBy(o)
	switch {
	case newer != "":
		return "It is not retried, because " + newer + " tests a newer deployment."
	case there != "":
		return "It is not retried, because " + there + "."
	case Unwanted(o):
		return "It is not retried, because it was to be stopped."
	case o.Trigger.Spec.Paused:
		return "It is not retried, because its Trigger is paused."
	case o.Suite.Retries() >= limit:
		return fmt.Sprintf("It was retry %d of %d, the last.", o.Suite.Retries(), limit)
	default:
		return ""
	}
}

// backoff is how long to wait until a run is repeated. It counts from when the run was stopped.
func backoff(o Observation, now time.Time) time.Duration {
	if notStartedReason(o) != v1alpha1.ReasonImageNotPulled || o.Suite.Status.RepeatedBy != "" {
		return 0
	}
	return backoffOf(o.Suite.Retries()) - now.Sub(since(o.Suite, v1alpha1.ConditionStarted, now))
}

func backoffOf(retries int32) time.Duration { return min(pullBackoffMin<<retries, pullBackoffMax) }

// notStartedReason prefers what was recorded when the run was stopped, because its pods are gone since.
func notStartedReason(o Observation) string {
	c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted)
	switch {
	case c != nil:
		return c.Reason
	case o.Unpulled:
		return v1alpha1.ReasonImageNotPulled
	default:
		return v1alpha1.ReasonNotStarted
	}
}

// successor leads to the run that repeats this one, unless a refusal says why there is none. It is recorded before it is created, and the
// run ends after that, so that no restart forgets or doubles it. That write fails if this run was notified again: then its successor is
// newer, too. Once the Decision has no step left, the second result ends the message of the run.
func successor(o Observation, refusal string, now time.Time) (step *Decision, sentence string) {
	next, problem := NextSuccessor(o, now)
	refusal = cmp.Or(refusal, problem, o.Successor.Problem)
	switch {
	case refusal != "":
		return nil, refusal
	case o.Suite.Status.RepeatedBy != next.Name:
		return &Decision{Successor: next.Name, RequeueAfter: time.Nanosecond}, ""
	case o.Successor.Run == "":
		return &Decision{Action: CreateSuccessor}, ""
	default:
		return nil, ""
	}
}

// NextSuccessor returns the attempt that repeats a run which is about to end, or why there can be none, as a sentence. If its
// workloads were compared, it is repeated because they changed; otherwise it is a retry.
func NextSuccessor(o Observation, now time.Time) (next *v1alpha1.Suite, problem string) {
	if o.UnderTest.Tested != nil {
		return rerun.SuccessorOf(o.Suite, o.Trigger, v1alpha1.OriginRepetition, o.Ledger, now)
	}
	return rerun.SuccessorOf(o.Suite, o.Trigger, v1alpha1.OriginRetry, o.Ledger, now)
}

// setSuccessor records the successor before it is created. A run that ends otherwise has none.
func setSuccessor(s *v1alpha1.Suite, o Observation, d Decision) {
	switch {
	case d.Successor != "":
		s.Status.RepeatedBy = d.Successor
	case s.Finished():
		s.Status.RepeatedBy = o.Successor.Run
	}
}
