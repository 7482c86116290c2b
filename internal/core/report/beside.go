package report

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Run is a Suite and its Trigger, which is nil if it does not exist any more.
type Run struct {
	Suite   *v1alpha1.Suite
	Trigger *v1alpha1.Trigger
}

// ShowsMore reports whether a Trigger asks for anything beside checks.
func ShowsMore(t *v1alpha1.Trigger) bool { return showsDeployments(t) || showsComments(t) }

func showsDeployments(t *v1alpha1.Trigger) bool {
	return t != nil && t.Spec.Repository != nil && t.Spec.Repository.Deployments
}

func showsComments(t *v1alpha1.Trigger) bool {
	return t != nil && t.Spec.Repository != nil && t.Spec.Repository.PullRequestComments
}

// NextDeployment decides whether to post the deployment that shows a run.
func NextDeployment(o Observation, now time.Time) Step {
	return nextBeside(o, showsDeployments(o.Trigger), func(r v1alpha1.SuiteReport) bool {
		return after(PhaseOf(o.Suite), DeploymentOn(r).Phase)
	}, now)
}

// NextComment decides whether to post the comment that shows a run.
func NextComment(o Observation, now time.Time) Step {
	return nextBeside(o, showsComments(o.Trigger), func(r v1alpha1.SuiteReport) bool {
		shown := PullRequestOn(r)
		return after(PhaseOf(o.Suite), shown.Phase) || AnswerOn(o.Suite).Comment != shown.Answered
	}, now)
}

// nextBeside posts nothing for a queued run, nor for an attempt that is not the newest.
func nextBeside(o Observation, wanted bool, due func(v1alpha1.SuiteReport) bool, now time.Time) Step {
	if !wanted || o.NewerAttempt != "" || PhaseOf(o.Suite) == v1alpha1.ReportQueued || TooLate(o.Suite, now) {
		return Step{}
	}
	target, problem := TargetOf(o.Suite, o.Trigger)
	if problem != nil || !due(PostedTo(o.Suite, target)) {
		return Step{}
	}
	if wait := delay(o.Suite, now); wait > 0 {
		return Step{After: wait}
	}
	return Step{Post: true, Target: target}
}

// DeploymentOn is what a report says about the deployment; empty if it says nothing.
func DeploymentOn(r v1alpha1.SuiteReport) v1alpha1.DeploymentReport {
	return ptr.Deref(r.Deployment, v1alpha1.DeploymentReport{})
}

// PullRequestOn is what a report says about the pull request; empty if it says nothing.
func PullRequestOn(r v1alpha1.SuiteReport) v1alpha1.PullRequestReport {
	return ptr.Deref(r.PullRequest, v1alpha1.PullRequestReport{})
}

// ProblemOf is what a report keeps of an error.
func ProblemOf(e *Error) string { return plaintext.Line(e.Message+".", maxProblem) }

// related returns the newest run of each Trigger, Environment and service, of Triggers that want the same in the same repository.
func related(self Run, others []Run, wanted func(*v1alpha1.Trigger) bool, same func(*v1alpha1.Suite) bool) []Run {
	target, _ := TargetOf(self.Suite, self.Trigger)
	newest := map[[3]string]Run{}
	for _, r := range append([]Run{self}, others...) {
		on, problem := TargetOf(r.Suite, r.Trigger)
		elsewhere := on.Host != target.Host || !commit.SameRepository(on.Repository, target.Repository)
		if problem != nil || elsewhere || !wanted(r.Trigger) || !same(r.Suite) {
			continue
		}
		key := [3]string{r.Suite.Spec.Environment, r.Suite.Spec.Trigger.Name, r.Suite.Spec.Deployment.Service}
		if known, ok := newest[key]; !ok || ledger.Compare(r.Suite, known.Suite) > 0 {
			newest[key] = r
		}
	}
	return sorted(newest)
}
