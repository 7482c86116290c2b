package rerun

import (
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// backdated is how much earlier than its creation a successor counts as received, so that it keeps the place of its run in the queue. It is
// less than MaxReceiptAge, beyond which the creation counts.
const backdated = v1alpha1.MaxReceiptAge - 5*time.Second

// SuccessorOf returns the attempt that repeats a run without a result, or why there can be none, as a sentence. It belongs to the same
// notification, so that it supersedes none of its siblings, and to the same deployment, so that each later one supersedes it.
func SuccessorOf(
	s *v1alpha1.Suite, t *v1alpha1.Trigger, origin v1alpha1.Origin, l *ledger.Ledger, now time.Time,
) (next *v1alpha1.Suite, problem string) {
	next, problem = NextAttempt(s, t, "")
	if problem != "" {
		return nil, problem
	}
	delete(next.Annotations, v1alpha1.AnnotationRerunBy)
	next.Annotations[v1alpha1.AnnotationRepeats] = s.Name
	next.Annotations[v1alpha1.AnnotationRequestID] = s.Annotations[v1alpha1.AnnotationRequestID]
	received := ledger.Last(s).Add(time.Microsecond)
	if earliest := now.Add(-backdated); received.Before(earliest) {
		received = earliest
	}
	next.Spec.Origin, next.Spec.DeployedAt, next.Spec.ReceivedAt = origin, deployedBy(s, l, now), suite.MicroTime(received)
	countRetries(next, s)
	return next, ""
}

// countRetries lets a run know how often the runs that it repeats were repeated, because these may be deleted before it ends.
func countRetries(next, s *v1alpha1.Suite) {
	retries := s.Retries()
	if next.Spec.Origin == v1alpha1.OriginRetry {
		retries++
	}
	if retries > 0 {
		next.Annotations[v1alpha1.AnnotationRetries] = strconv.Itoa(int(retries))
	}
	if next.Spec.Origin == v1alpha1.OriginRepetition || s.FollowsInconclusive() {
		next.Annotations[v1alpha1.AnnotationAfterInconclusive] = "true"
	}
}

// SuccessorProblem returns why an existing Suite is not the desired successor of a run, as a sentence, or "". A notification may have
// created the attempt meanwhile. It must not answer for the run if it ended before, or tested another deployment of the commit.
func SuccessorProblem(existing, desired, run *v1alpha1.Suite) string {
	ours := existing.Annotations[v1alpha1.AnnotationRepeats] == run.Name
	switch {
	case !suite.SameRun(existing, desired), len(Differences(existing, desired)) > 0:
		return "It is not repeated, because the name " + existing.Name + " belongs to another Suite. Notify again."
	case existing.DeletionTimestamp != nil:
		return "It is not repeated, because its next attempt, " + existing.Name + ", is being deleted. Notify again."
	case !ours && (existing.Finished() || ledger.Compare(existing, run) < 0):
		return "It is not repeated, because its next attempt, " + existing.Name + ", was there before. Notify again, and request a rerun."
	default:
		return ""
	}
}
