package suite

import (
	"cmp"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Repeat is what came of the creation of the run that repeats another one.
type Repeat struct {
	Run     string // its name
	Problem string // a sentence: why there is none
}

// repetition leads to the run that repeats this one, unless a refusal says why there is none. It is recorded before it is created, and the
// run ends after that, so that no restart forgets or doubles it. That write fails if this run was notified again: then its repetition is
// newer, too. Once the Decision has no step left, the second result ends the message of the run.
func repetition(o Observation, refusal string, now time.Time) (step *Decision, sentence string) {
	next, problem := NextRepetition(o, now)
	switch refusal = cmp.Or(refusal, problem, o.Repeat.Problem); {
	case refusal != "":
		return nil, refusal
	case o.Suite.Status.RepeatedBy != next.Name:
		return &Decision{RepeatedBy: next.Name, RequeueAfter: time.Nanosecond}, ""
	case o.Repeat.Run == "":
		return &Decision{Action: RepeatRun}, ""
	default:
		return nil, ""
	}
}

// NextRepetition returns the attempt that repeats a run which is about to end, or why there can be none, as a sentence. Only runs of which
// something was compared are repeated because that changed.
func NextRepetition(o Observation, now time.Time) (next *v1alpha1.Suite, problem string) {
	if o.UnderTest.Tested != nil {
		return RepeatOf(o.Suite, o.Trigger, v1alpha1.ReasonInconclusive, now)
	}
	return RepeatOf(o.Suite, o.Trigger, v1alpha1.ReasonError, now)
}

// backdated is how much earlier than its creation a repetition counts as received, so that it supersedes no deployment whose notification
// came just before it. It is less than MaxReceiptAge, beyond which the creation counts.
const backdated = v1alpha1.MaxReceiptAge - 5*time.Second

// RepeatOf returns the attempt that repeats a run without a result, which ends as Inconclusive or Error, or why there can be none, as a
// sentence. It belongs to the same notification, so that it supersedes none of its siblings.
func RepeatOf(s *v1alpha1.Suite, t *v1alpha1.Trigger, end string, now time.Time) (next *v1alpha1.Suite, problem string) {
	next, problem = NextAttempt(s, t, "")
	if problem != "" {
		return nil, problem
	}
	delete(next.Annotations, v1alpha1.AnnotationRerunBy)
	next.Annotations[v1alpha1.AnnotationRepeats] = s.Name
	next.Annotations[AnnotationRequestID] = s.Annotations[AnnotationRequestID]
	if s.Scheduled() { // it supersedes no deployment either
		next.Annotations[v1alpha1.AnnotationScheduledFor] = s.Annotations[v1alpha1.AnnotationScheduledFor]
	}
	countRepetition(next, s, end)
	received := s.LastNotified().Add(time.Microsecond)
	if earliest := now.Add(-backdated); received.Before(earliest) {
		received = earliest
	}
	next.Spec.ReceivedAt = new(metav1.NewMicroTime(received.UTC().Truncate(time.Microsecond)))
	return next, ""
}

// countRepetition lets a run know how often the runs that it repeats were repeated, because these may be deleted before it ends.
func countRepetition(next, s *v1alpha1.Suite, end string) {
	retries := s.Retries()
	if end == v1alpha1.ReasonError {
		retries++
	}
	if retries > 0 {
		next.Annotations[v1alpha1.AnnotationRetries] = strconv.Itoa(int(retries))
	}
	if end == v1alpha1.ReasonInconclusive || s.RepeatsInconclusive() {
		next.Annotations[v1alpha1.AnnotationRepeatsInconclusive] = "true"
	}
}

// RepetitionProblem returns why an existing Suite is not the desired repetition of a run, as a sentence, or "". A notification may have created
// the attempt meanwhile. One that ended before, or tested another deployment of the commit, must not answer for the run.
func RepetitionProblem(existing, desired, of *v1alpha1.Suite) string {
	ours := existing.Annotations[v1alpha1.AnnotationRepeats] == of.Name
	switch {
	case !SameRun(existing, desired), len(Differences(existing, desired)) > 0:
		return "It is not repeated, because the name " + existing.Name + " belongs to another Suite. Notify again."
	case existing.DeletionTimestamp != nil:
		return "It is not repeated, because its next attempt, " + existing.Name + ", is being deleted. Notify again."
	case !ours && (existing.Finished() || Compare(existing, of) < 0):
		return "It is not repeated, because its next attempt, " + existing.Name + ", was there before. Notify again, and request a rerun."
	default:
		return ""
	}
}

// setRepeatedBy records the repetition before it is created. A run that ends otherwise has none.
func setRepeatedBy(s *v1alpha1.Suite, o Observation, d Decision) {
	switch {
	case d.RepeatedBy != "":
		s.Status.RepeatedBy = d.RepeatedBy
	case s.Finished():
		s.Status.RepeatedBy = o.Repeat.Run
	}
}
