package quarantine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The reasons of the Ready condition of a Quarantine.
const (
	ReasonQuarantined    = "Quarantined"
	ReasonNotYet         = "NotYet"
	ReasonExpired        = "Expired"
	ReasonInvalid        = "Invalid"
	ReasonTriggerMissing = "TriggerMissing"
)

// enoughRuns are those after which a Quarantine that names none of their tests is probably wrong, or not needed any more.
const enoughRuns = 5

// StatusOf returns the status of a Quarantine. Runs are Suites of its namespace, triggers the names of those that exist there.
func StatusOf(q *v1alpha1.Quarantine, runs []*v1alpha1.Suite, triggers []string, now time.Time) v1alpha1.QuarantineStatus {
	status := *q.Status.DeepCopy()
	uses := usesOf(q.Name, runs)
	if len(uses) > 0 {
		status.LastRun, status.Matched = uses[0].run.Name, uses[0].tests
	}
	if i := slices.IndexFunc(uses, func(u use) bool { return u.tests > 0 }); i >= 0 {
		status.LastMatched = uses[i].run.Status.CompletionTime
	}
	condition := ready(q, uses, triggers, now)
	condition.ObservedGeneration, condition.LastTransitionTime = q.Generation, metav1.NewTime(now)
	meta.SetStatusCondition(&status.Conditions, condition)
	return status
}

// NextChange returns how long the state of a Quarantine stays the same; 0: for ever.
func NextChange(q *v1alpha1.Quarantine, now time.Time) time.Duration {
	since, until := q.Days()
	switch StateOf(q, now) {
	case Later:
		return since.Sub(now)
	case Valid:
		return until.Sub(now)
	default:
		return 0
	}
}

type use struct {
	run   *v1alpha1.Suite
	tests int32
}

// usesOf returns the ended runs that applied a Quarantine, newest first, without those that repeated only failed tests.
func usesOf(name string, runs []*v1alpha1.Suite) (uses []use) {
	for _, s := range runs {
		if s.Status.Results == nil || s.Status.CompletionTime == nil || s.Spec.OnlyFailedOf != nil {
			continue
		}
		for _, applied := range s.Status.Results.Quarantines {
			if applied.Name == name {
				uses = append(uses, use{s, applied.Tests})
			}
		}
	}
	slices.SortFunc(uses, func(a, b use) int {
		return cmp.Or(b.run.Status.CompletionTime.Compare(a.run.Status.CompletionTime.Time), cmp.Compare(a.run.Name, b.run.Name))
	})
	return uses
}

func ready(q *v1alpha1.Quarantine, uses []use, triggers []string, now time.Time) metav1.Condition {
	switch StateOf(q, now) {
	case Invalid:
		return notReady(ReasonInvalid, fmt.Sprintf("It quarantines nothing: until must be a day after since, and at most %d days later.",
			maxDays))
	case Later:
		return isReady(ReasonNotYet, fmt.Sprintf("It quarantines nothing before %s.", q.Spec.Since))
	case Expired:
		return isReady(ReasonExpired, fmt.Sprintf(
			"Since %s, its tests count again. Delete it, or renew it: set since to the day of the renewal, and until to at most %d days later.",
			q.Spec.Until, maxDays))
	}
	missing := missingTriggers(q, triggers)
	if len(missing) > 0 && len(missing) == len(q.Spec.Triggers) {
		return notReady(ReasonTriggerMissing, fmt.Sprintf("It quarantines nothing, because the namespace has no such Trigger: %s.",
			strings.Join(missing, ", ")))
	}
	message := fmt.Sprintf("Failures of its tests do not fail the runs of %s until %s.", triggersOf(q), q.Spec.Until)
	if len(missing) > 0 {
		message += fmt.Sprintf(" The namespace has no such Trigger: %s.", strings.Join(missing, ", "))
	}
	return isReady(ReasonQuarantined, message+advice(uses))
}

// isReady is also for days before and after a Quarantine: tools that wait until all objects of a commit are ready must not wait for these.
func isReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func triggersOf(q *v1alpha1.Quarantine) string {
	if slices.Equal(q.Spec.Triggers, []string{all}) {
		return "all Triggers of the namespace"
	}
	return strings.Join(q.Spec.Triggers, ", ")
}

func missingTriggers(q *v1alpha1.Quarantine, triggers []string) (missing []string) {
	for _, name := range q.Spec.Triggers {
		if name != all && !slices.Contains(triggers, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// advice says that a Quarantine names every test, or none.
func advice(uses []use) string {
	if len(uses) == 0 {
		return ""
	}
	last := uses[0]
	if r := last.run.Status.Results; last.tests > 0 && last.tests >= r.Tests-r.Skipped {
		return fmt.Sprintf(" It names every test that ran in %s, so it excuses no failure there: name fewer.", last.run.Name)
	}
	newest := uses[:min(len(uses), enoughRuns)]
	if len(newest) == enoughRuns && !slices.ContainsFunc(newest, func(u use) bool { return u.tests > 0 }) {
		return fmt.Sprintf(" It named no test in the last %d runs: delete it, or copy the names from postflight runs results.", enoughRuns)
	}
	return ""
}
