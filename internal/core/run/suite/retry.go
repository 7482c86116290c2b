package suite

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// How long a run waits before it is repeated because its image could not be pulled: registries that are restarted, or that limit pulls,
// need more than seconds, and the run keeps its slot meanwhile. After other errors there is no wait: Kubernetes keeps new pods off a node
// that is drained, short of memory or unreachable.
const (
	pullBackoffMin = 30 * time.Second
	pullBackoffMax = 2 * time.Minute
)

// retry lets a run be repeated that the cluster ended, and not its tests, as often as its Trigger says.
func retry(o Observation, d Decision, now time.Time) Decision {
	limit, retries := o.Trigger.RetriesOnError(), o.Suite.Retries()
	if o.Suite.Finished() || d.Condition.Reason != v1alpha1.ReasonError || !d.Interrupted || limit == 0 || anyFailed(o) {
		return d
	}
	if o.Ledger == nil {
		return readLedger()
	}
	refusal := notRetried(o, limit)
	if wait := backoff(o, now); refusal == "" && wait > 0 {
		return Decision{RequeueAfter: wait, NotStarted: d.NotStarted, Condition: v1alpha1.Starting(fmt.Sprintf(
			"%s Retry %d of %d follows within %s.", withoutHint(d.Condition.Message), retries+1, limit, plaintext.Duration(backoffOf(retries))))}
	}
	step, why := repetition(o, refusal, now)
	switch {
	case step != nil:
		step.Condition, step.NotStarted = v1alpha1.Running(withoutHint(d.Condition.Message)), d.NotStarted
		if d.NotStarted != "" {
			step.Condition.Reason = v1alpha1.ReasonStarting // it never ran
		}
		return *step
	case why != "":
		d.Condition = v1alpha1.Error(d.Condition.Message + " " + why)
	default:
		d.Condition = v1alpha1.Error(fmt.Sprintf("%s The run %s is retry %d of %d.",
			withoutHint(d.Condition.Message), o.Repeat.Run, retries+1, limit))
	}
	return d
}

// anyFailed reports whether a test failed before the run was interrupted, and not in quarantine. Failures are never repeated.
func anyFailed(o Observation) bool {
	return o.Collected != nil && o.Collected.Summary.Failed > o.Collected.Summary.Quarantined
}

// notRetried returns why an interrupted run is not repeated, as a sentence, or "".
func notRetried(o Observation, limit int32) string {
	there := replaced(o.Suite, o.Ledger)
	switch newer := supersededBy(o); {
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

// hint is what messages advise where nothing happens by itself.
const hint = " Notify again, or create another Suite, to repeat the run."

func withoutHint(message string) string { return strings.Replace(message, hint, "", 1) }
