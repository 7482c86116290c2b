package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxPodProblem is the bound of the schema, in bytes.
const maxPodProblem = 2048

// SetStatus writes a Decision into the status of the Suite. Writing it twice changes nothing.
func SetStatus(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	s.Status.ObservedGeneration = s.Generation
	if s.Finished() {
		return
	}
	setCondition(s, outcome.WithAdvice(d.Condition, d.Advice), now)
	setKstatusConditions(s, d.Condition, now)
	setInputs(s, o, now)
	setJobAccepted(s, o, d, now)
	setObjectsFound(s, d, now)
	setHold(s, d, now)
	setDeploymentReady(s, o, d, now)
	if d.NotStarted != "" {
		setCondition(s, v1alpha1.NotStarted(notStartedReason(o), d.NotStarted), now)
	}
	if o.Job != nil {
		s.Status.JobName = s.Name
	}
	if o.Job != nil && !o.Unconfirmed {
		s.Status.PodProblem = plaintext.Line(o.PodProblem, maxPodProblem)
		s.Status.StartTime = startTime(o)
	}
	setUnderTest(s, o, d)
	setSuccessor(s, o, d)
	if d.SupersededBy != "" {
		s.Status.SupersededBy = d.SupersededBy
	}
	if s.Finished() {
		s.Status.CompletionTime, s.Status.DeploymentsReadAt = new(metav1.NewTime(now)), nil
		setPodsKept(s, o, now)
		setResults(s, o, now)
	}
}

// setObjectsFound records since when something is missing, also for a run that ends.
func setObjectsFound(s *v1alpha1.Suite, d Decision, now time.Time) {
	switch {
	case d.Missing != "":
		setCondition(s, v1alpha1.ObjectMissing(fmt.Sprintf("The %s does not exist.", d.Missing)), now)
	case !Ended(d.Condition):
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionObjectsFound)
	}
}

func setCondition(s *v1alpha1.Suite, c metav1.Condition, now time.Time) {
	c.ObservedGeneration = s.Generation
	c.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&s.Status.Conditions, c)
}

// setKstatusConditions sets conditions that exist only while they are True, which Argo CD and Flux read.
func setKstatusConditions(s *v1alpha1.Suite, c metav1.Condition, now time.Time) {
	switch c.Status {
	case metav1.ConditionUnknown:
		setCondition(s, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: c.Reason}, now)
	case metav1.ConditionFalse:
		setCondition(s, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: c.Reason}, now)
		fallthrough
	default:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionReconciling)
	}
}

// StatusChanged reports whether there is anything to write.
func StatusChanged(before, now *v1alpha1.Suite) bool {
	return !equality.Semantic.DeepEqual(before.Status, now.Status)
}

// ToArchive reports whether there is anything left to save. The record of a run that was restored from a backup is that
// of before.
func ToArchive(s *v1alpha1.Suite) bool { return s.Finished() && !s.Archived() && !s.Restored() }

// setPodsKept records at the end of a run until when its pods are kept, so that a change of its Trigger deletes none earlier.
func setPodsKept(s *v1alpha1.Suite, o Observation, now time.Time) {
	if keep := o.Trigger.FailedPodsTTL(); keep > 0 && state.Of(s.State()).Bad && s.Status.JobName != "" {
		s.Status.PodsKeptUntil = new(metav1.NewTime(now.Add(keep)))
	}
}

// podsKeptFor is how long after its end a run is kept for its pods; 0: its retention decides.
func podsKeptFor(s *v1alpha1.Suite) time.Duration {
	until, end := s.Status.PodsKeptUntil, s.Status.CompletionTime
	if until == nil || end == nil {
		return 0
	}
	return until.Sub(end.Time)
}
