package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Asked is a question of a code host and its answer, or a run that withdrew a pass.
type Asked struct {
	At    *view.Time
	State view.State

	Host        string // the code host that asked; empty: a run withdrew a pass
	Environment string // of the code host
	By          string // whose deployment waits; empty: not known
	Waiting     *view.Link
	Decision    string // Approved or Rejected; empty: it waits
	Message     string
	Undelivered string // why the code host has no answer yet

	Run, Trigger string // that withdrew a pass
	Passed       *view.Time
}

const (
	maxAsked   = 20  // newest questions: more are in DeploymentReviews
	maxMessage = 500 // bytes of a message
)

// askedOf returns who asked about the commit, newest first.
func askedOf(o CommitSubject) (all []Asked, more int) {
	v := o.Verdict
	for _, r := range o.Reviews {
		if isAbout(r, v, o.Gates) {
			all = append(all, reviewOf(r, o.Sites, v))
		}
	}
	for _, r := range v.Requirements {
		if r.State == verdict.Withdrawn && r.Run.Status.CompletionTime != nil {
			all = append(all, Asked{At: view.TimeOf(r.Run.Status.CompletionTime.Time, v.Now), State: VerdictLookOf(verdict.Withdrawn).State,
				Run: r.Run.Name, Trigger: v1alpha1.TestName(r.Trigger, plaintext.Line(r.Service, maxTestName)),
				Passed: view.TimeOf(r.Passed, v.Now)})
		}
	}
	slices.SortStableFunc(all, func(a, b Asked) int { return since(b.At).Compare(since(a.At)) })
	shown := min(len(all), maxAsked)
	return all[:shown], len(all) - shown
}

// isAbout compares whole revisions, as verdicts do. All gates that decide count, and a gate that is gone may have required the Environment.
func isAbout(r *v1alpha1.DeploymentReview, v verdict.Verdict, gates []v1alpha1.DeploymentGate) bool {
	if !commit.EqualRevisions(r.Spec.SHA, v.Commit.Revision) || !commit.MayBeSameRepository(r.Spec.Repository, v.Commit.Repository) {
		return false
	}
	deciding := gate.Matching(gates, gate.PlaceOf(r))
	i := slices.IndexFunc(gates, func(g v1alpha1.DeploymentGate) bool { return g.Name == r.Spec.Gate })
	if i >= 0 {
		deciding = append(deciding, &gates[i])
	}
	return i < 0 || slices.ContainsFunc(deciding, func(g *v1alpha1.DeploymentGate) bool {
		return slices.ContainsFunc(g.Spec.Requires, func(required v1alpha1.GateRequirement) bool {
			return required.Environment == v.Environment.Name
		})
	})
}

func reviewOf(r *v1alpha1.DeploymentReview, sites codehost.Sites, v verdict.Verdict) Asked {
	host := string(cmp.Or(r.Spec.HostingService, v1alpha1.GitHub))
	a := Asked{
		At: view.TimeOf(r.CreationTimestamp.Time, v.Now), State: VerdictLookOf(verdict.Running).State, Host: host,
		Environment: plaintext.Line(r.Spec.Environment, maxTestName),
		By:          suite.ShownPerson(strings.TrimPrefix(r.Spec.RequestedBy, host+": ")), // the line begins with the host
		Waiting:     &view.Link{Text: waitingName(r.Spec), URL: sites.Waiting(r.Spec)}, Message: plaintext.Line(r.Status.LastReport, maxMessage),
	}
	d := r.Status.Decision
	if d == nil {
		return a
	}
	a.At, a.Decision, a.Message = view.TimeOf(d.Time.Time, v.Now), string(d.State), plaintext.Line(d.Message, maxMessage)
	a.State = VerdictLookOf(verdict.Failed).State
	if d.State == v1alpha1.ReviewApproved {
		a.State = VerdictLookOf(verdict.Passed).State
	}
	a.State.Label = a.Decision
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionDelivered); c != nil && c.Status == metav1.ConditionFalse &&
		r.Status.DeliveredTime == nil {
		a.Undelivered = plaintext.Line(c.Message, maxMessage)
	}
	return a
}

// waitingName is what people follow to the code host.
func waitingName(r v1alpha1.DeploymentReviewSpec) string {
	repository := suite.ShownRepository(r.Repository)
	if r.RunID > 0 {
		return fmt.Sprintf("run %d of %s", r.RunID, repository)
	}
	return fmt.Sprintf("deployment %d of %s", r.DeploymentID, repository)
}
