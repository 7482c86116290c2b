package rerun

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// NextAttempt returns the requested next attempt of a run that has ended, or a sentence why there can be none. t may be nil. Whether the
// commit is still deployed has to be asked with SetDeployed before it is created.
func NextAttempt(s *v1alpha1.Suite, t *v1alpha1.Trigger, by string) (next *v1alpha1.Suite, problem string) {
	attempt := max(s.Spec.Attempt, 1)
	switch {
	case attempt >= v1alpha1.MaxAttempt:
		return nil, fmt.Sprintf("The run %s is attempt %d, and there can be no more. Deploy again, and notify.", s.Name, attempt)
	case t == nil || t.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("The Trigger %q of the run does not exist any more. Create it again, or rerun a run of another Trigger.",
			s.Spec.Trigger.Name)
	}
	// Without a SHA the request is part of the name: all requests to rerun this run share one.
	next = suite.Rerun(s, t.UID, attempt+1, "rerun."+s.Name)
	next.Spec.Origin = v1alpha1.OriginRerun
	next.Annotations[v1alpha1.AnnotationRerunBy] = by
	return next, ""
}

// UnfinishedProblem returns why a run has no next attempt yet, as a sentence, or "" if the run has ended.
func UnfinishedProblem(s *v1alpha1.Suite) string {
	if s.Finished() {
		return ""
	}
	return fmt.Sprintf("The run %s has not ended. Wait for its end, or cancel it.", s.Name)
}

// NextProblem returns why a Suite with the name of the desired attempt is not that attempt, as a sentence, or "". Later attempts are among
// the known runs.
func NextProblem(existing, desired *v1alpha1.Suite, known []*v1alpha1.Suite) string {
	switch {
	case !suite.SameRun(existing, desired):
		return fmt.Sprintf("The name %s belongs to a Suite that is not an attempt of this run. Delete that Suite, and send the request again.",
			existing.Name)
	case existing.DeletionTimestamp != nil:
		return fmt.Sprintf("The next attempt, %s, is being deleted, and is not gone yet. Send the request again in a minute.", existing.Name)
	case equality.Semantic.DeepEqual(existing.Spec.OnlyFailedOf, desired.Spec.OnlyFailedOf):
		return ""
	case !existing.Finished():
		return fmt.Sprintf("The next attempt, %s, has not ended, and repeats %s. Wait for its end, or cancel it.", existing.Name,
			whichTests(existing))
	default:
		return rerunNewest(existing, desired, known)
	}
}

// rerunNewest leads to the newest attempt, with the question that was asked.
func rerunNewest(existing, desired *v1alpha1.Suite, known []*v1alpha1.Suite) string {
	newest, which, command := existing, "that one", Command
	for _, s := range known {
		if suite.SameAttempts(s, existing) && s.Spec.Attempt > newest.Spec.Attempt {
			newest, which = s, "the newest one"
		}
	}
	problem := UnfinishedProblem(newest)
	if desired.Spec.OnlyFailedOf != nil {
		problem, command = FailedProblem(newest), FailedCommand
	}
	if problem != "" {
		return fmt.Sprintf("The newest attempt is %s. %s", newest.Name, problem)
	}
	return fmt.Sprintf("The next attempt, %s, repeated %s, and ended as %s. Rerun %s: %s",
		existing.Name, whichTests(existing), existing.State(), which, command(newest))
}

// Command reruns all tests of a run.
func Command(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight runs rerun %s -n %s", s.Name, s.Namespace)
}

// FailedCommand reruns only the tests of a run that failed.
func FailedCommand(s *v1alpha1.Suite) string {
	return fmt.Sprintf("postflight runs rerun --failed %s -n %s", s.Name, s.Namespace)
}

func whichTests(s *v1alpha1.Suite) string {
	if s.Spec.OnlyFailedOf != nil {
		return "only the failed tests of " + s.Spec.OnlyFailedOf.Name
	}
	return "all tests"
}

// SetDeployed records when the commit was deployed that the next attempt of a run tests, or returns why it is not there any more, as a
// sentence.
func SetDeployed(next, run *v1alpha1.Suite, l *ledger.Ledger, now time.Time) (problem string) {
	if clause := Obstacle(run, l); clause != "" {
		return fmt.Sprintf("The run %s is not repeated, because %s. %s", run.Name, clause, Advice(run, l.Replaced(run)))
	}
	next.Spec.DeployedAt = deployedBy(run, l, now)
	return ""
}

// deployedBy is when the commit of a run was deployed last. The status of an Environment has whole seconds, the end of which may be to
// come: a rollout that follows in the same second is newer. Clocks may differ by more.
func deployedBy(s *v1alpha1.Suite, l *ledger.Ledger, now time.Time) *metav1.MicroTime {
	last := l.LastOf(s)
	if last.After(now) {
		last = slices.MaxFunc([]time.Time{now, last.Truncate(time.Second), ledger.Last(s)}, time.Time.Compare)
	}
	return suite.MicroTime(last)
}

// Obstacle returns why another run of the commit of s would test something else, as a clause, or "".
func Obstacle(s *v1alpha1.Suite, l *ledger.Ledger) string {
	if l.Removed(s) {
		return fmt.Sprintf("the Environment %s was deleted and created again after it", s.Spec.Environment)
	}
	if d := l.Replaced(s); d != nil {
		return fmt.Sprintf("%s was deployed to %s after %s", suite.CommitName(d.Commit), s.Spec.Environment,
			cmp.Or(suite.ShownSHA(s.Spec.Deployment.SHA), "it"))
	}
	return ""
}

// Advice says how to test the commit of a run that something else replaced, as sentences.
func Advice(s *v1alpha1.Suite, there *ledger.Deployment) string {
	d := s.Spec.Deployment
	ifBack := fmt.Sprintf("If %s is deployed again, say so, and request a rerun: %s", cmp.Or(suite.ShownSHA(d.SHA), "it"),
		notification.Command(d, true))
	switch {
	case there == nil:
		return ifBack
	case there.Run == nil:
		d = v1alpha1.Deployment{SHA: there.Revision, Repository: there.Repository, Service: there.Service, URL: there.URL}
		return fmt.Sprintf("To test what is there, notify it: %s. %s", notification.Command(d, true), ifBack)
	case !there.Run.Finished():
		return fmt.Sprintf("The run %s tests what is there. %s", there.Run.Name, ifBack)
	default:
		return fmt.Sprintf("To test what is there: %s. %s", Command(there.Run), ifBack)
	}
}
