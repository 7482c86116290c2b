package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Observation is what is known of a review.
type Observation struct {
	Review    *v1alpha1.DeploymentReview
	Source    *v1alpha1.EventSource    // nil: it does not exist
	Team      *v1alpha1.Team           // of the namespace; nil: none
	Allowed   bool                     // the Team may use what the source needs for the repository
	Gates     []Gate                   // that have the deployment, by name
	Answers   *v1alpha1.DeploymentGate // whose credentials are used; nil: no gate is left
	Claims    []Claim                  // of all teams whose gates answer with the manager's own credentials; none: those are not used
	Pending   *report.Pending          // what the code host says; nil: not known
	Again     bool                     // a later question takes the place of this one
	Host      string                   // as Teams name it
	PublicURL string
}

// Gate is a DeploymentGate, with what it requires.
type Gate struct {
	*v1alpha1.DeploymentGate
	Requires []Required
}

// Required is an Environment in which the commit must have passed.
type Required struct {
	Environment string
	Known       bool // it exists
	verdict.Verdict
}

// Step is what to do about a review next.
type Step struct {
	Decision *v1alpha1.ReviewDecision // to send; nil: none yet
	Ask      bool                     // the code host must say more before anything is decided
	Ended    string                   // a sentence: why nothing is left to decide; empty: something is
	Waits    string                   // sentences: what is waited for
	After    time.Duration            // when to look again
}

// Next decides. An approval that was stored and not sent is decided again: it can become a rejection, and nothing else.
func Next(o Observation, now time.Time) Step {
	stored := o.Review.Status.Decision
	created := o.Review.CreationTimestamp.Time
	host := codehostName(o.Review)
	switch {
	case o.Answers == nil:
		return Step{Ended: "No gate is left that could answer."}
	case o.Again:
		return Step{Ended: host + " has asked again since, about a later attempt or job of the workflow run. That question is decided."}
	case o.othersDecide():
		return Step{Ended: "Nothing is sent: the gates of another team decide about this repository, because its Team lists it by its name."}
	case now.Sub(created) >= Expiry:
		return Step{Ended: host + " waits for no decision any more: the question is 30 days old."}
	case stored != nil && stored.State != v1alpha1.ReviewApproved:
		return Step{Decision: stored}
	case o.Pending != nil && !o.Pending.Waiting && now.Sub(created) < unlistedFor && o.Review.Status.Attempts == 0:
		return Step{Waits: host + " does not list the deployment yet.", After: unlistedRetry}
	case o.Pending != nil && !o.Pending.Waiting:
		return Step{Ended: host + " waits for no decision: it has one, or the deployment was stopped."}
	}
	a := o.answer(now)
	switch {
	case o.Pending == nil && SHA(o.Review, nil) == "" && o.problem() == "":
		return Step{Ask: true}
	case a.state == v1alpha1.ReviewRejected:
		return Step{Decision: o.decision(a, now)}
	case o.Pending == nil:
		return Step{Ask: true}
	case a.state == v1alpha1.ReviewApproved && stored != nil:
		return Step{Decision: stored}
	case a.state == v1alpha1.ReviewApproved:
		return Step{Decision: o.decision(a, now)}
	default:
		return Step{Waits: a.message, After: max(time.Second, min(a.until.Sub(now), lookEvery))}
	}
}

// SHA is the commit to decide about; empty: it is not known.
func SHA(r *v1alpha1.DeploymentReview, p *report.Pending) string {
	if r.Spec.SHA == "" && p != nil && !codehost.Of(r.Spec.HostingService).ReviewsRuns {
		return commit.NormalSHA(p.SHA)
	}
	return commit.NormalSHA(r.Spec.SHA)
}

// answer is what gates say. Without a state, they wait.
type answer struct {
	state   v1alpha1.ReviewState
	verdict verdict.State
	message string
	advice  string
	until   time.Time // without a state: then it rejects
}

func rejected(format string, args ...any) answer {
	return answer{state: v1alpha1.ReviewRejected, message: fmt.Sprintf(format, args...)}
}

// answer combines the answers of all gates: a rejection decides, and all that wait are waited for.
func (o Observation) answer(now time.Time) answer {
	if problem := o.problem(); problem != "" {
		return rejected("%s", problem)
	}
	all := answer{state: v1alpha1.ReviewApproved, verdict: verdict.Passed}
	for _, g := range o.Gates {
		switch a := o.ofGate(g, now); {
		case a.state == v1alpha1.ReviewRejected:
			return a
		case a.state == "" && (all.state != "" || a.until.Before(all.until)):
			all = a
		case a.state == v1alpha1.ReviewApproved && all.state == a.state:
			all.message = joined(all.message, a.message)
		}
	}
	return all
}

// problem is why nothing of this deployment is ever approved.
func (o Observation) problem() string {
	r := o.Review.Spec
	sha, known := SHA(o.Review, o.Pending), o.Pending != nil
	_, several := o.deciding()
	switch {
	case r.Contested:
		return contested
	case o.Team == nil:
		return "The namespace of the gate belongs to no Team."
	case o.Team.Spec.Suspended:
		return "The team is suspended. Ask the operator of this service to enable it."
	case o.Source == nil || o.Source.DeletionTimestamp != nil || HostOf(o.Source) != r.HostingService:
		return fmt.Sprintf("The EventSource %s, whose events asked, does not exist any more, or is of another type.", r.Source)
	case !event.Covers(o.Source.Spec.Repositories, r.Repository):
		return fmt.Sprintf("spec.repositories of the EventSource %s does not list the repository.", r.Source)
	case !o.Allowed:
		return "spec.repositories of the Team does not list the repository, so the manager's own App decides nothing there."
	case several:
		return contested
	case len(o.Gates) == 0:
		return "No DeploymentGate has this environment and repository any more."
	case known && !commit.SameRepository(o.Pending.Repository, r.Repository):
		return "The deployment is of another repository than the question says."
	case known && o.Pending.OfFork():
		return "The commit is of a fork, or its repository is not known. Commits of forks are never approved."
	case known && !sameEnvironment(r, o.Pending.Environment):
		return "The deployment is to another environment than the question says."
	case known && !commit.EqualRevisions(sha, o.Pending.SHA):
		return "The deployment is of another commit than the question says."
	case (known || r.SHA != "" || codehost.Of(r.HostingService).ReviewsRuns) && !commit.IsSHA(sha):
		return "It is not known which commit is to be deployed."
	default:
		return ""
	}
}

const contested = "Gates of several teams have this deployment, and only one decision can be made. " +
	"Let one Team alone list the repository by its name in spec.repositories."

// othersDecide reports whether the decision belongs to the gates of other teams. Then not even a rejection is sent with the manager's
// credentials: an event of the team's own source can be forged.
func (o Observation) othersDecide() bool {
	namespaces, _ := o.deciding()
	return len(o.Claims) > 0 && !slices.Contains(namespaces, o.Review.Namespace)
}

func (o Observation) deciding() (namespaces []string, contested bool) {
	return Deciding(report.Target{Host: o.Review.Spec.HostingService, Repository: o.Review.Spec.Repository}, o.Host, o.Claims)
}

func sameEnvironment(r v1alpha1.DeploymentReviewSpec, name string) bool {
	if codehost.Of(r.HostingService).ReviewsRuns {
		return strings.EqualFold(name, r.Environment)
	}
	return name == r.Environment
}

func (o Observation) ofGate(g Gate, now time.Time) answer {
	asked := o.Review.CreationTimestamp.Time
	passed, waits := []string{}, answer{}
	for _, r := range g.Requires {
		a := r.answer(g, asked)
		switch {
		case a.state == v1alpha1.ReviewRejected:
			return a
		case a.state == v1alpha1.ReviewApproved:
			passed = append(passed, a.message)
		case waits.message == "" || a.until.Before(waits.until):
			waits = a
		}
	}
	if problem := notReady(g.DeploymentGate); problem != "" && waits.message == "" {
		waits = answer{message: problem, advice: "Repair the gate.", until: asked.Add(g.StartTimeout())}
	}
	switch {
	case waits.message == "" && len(passed) == len(g.Requires) && len(passed) > 0:
		return answer{state: v1alpha1.ReviewApproved, verdict: verdict.Passed, message: joined(passed...)}
	case now.Before(waits.until):
		return waits
	default:
		waits.state = v1alpha1.ReviewRejected
		waits.message = joined(waits.message, fmt.Sprintf("This was waited for until %s had passed.", plaintext.Duration(waits.until.Sub(asked))))
		return waits
	}
}

func (r Required) answer(g Gate, asked time.Time) answer {
	switch {
	case !r.Known:
		return rejected("The Environment %s, which the gate %s requires, does not exist. Create it, or change the gate.", r.Environment, g.Name)
	case len(r.Triggers)+len(r.LeftOut) == 0:
		return rejected("No Trigger starts runs in the Environment %s, which the gate %s requires. Create one, or change the gate.",
			r.Environment, g.Name)
	}
	a := answer{verdict: r.State, message: r.Sentence(), advice: r.Advice()}
	end := asked.Add(g.Timeout())
	switch r.State {
	case verdict.Passed:
		a.state = v1alpha1.ReviewApproved
	case verdict.Running:
		a.until = end
	case verdict.None:
		if a.until = r.lastEnd(asked).Add(g.StartTimeout()); a.until.After(end) {
			a.until = end
		}
	default:
		a.state = v1alpha1.ReviewRejected
	}
	return a
}

// lastEnd is when a run began to be missing: after the question, and after the end of a run without a result, which may have a successor.
func (r Required) lastEnd(asked time.Time) time.Time {
	if r.Newest != nil && r.Newest.Status.CompletionTime != nil && r.Newest.Status.CompletionTime.After(asked) {
		return r.Newest.Status.CompletionTime.Time
	}
	return asked
}

// notReady is empty for a gate that is Ready as it is now.
func notReady(g *v1alpha1.DeploymentGate) string {
	c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c == nil || c.ObservedGeneration != g.Generation:
		return fmt.Sprintf("The gate %s has not been checked yet.", g.Name)
	case c.Status != metav1.ConditionTrue:
		return fmt.Sprintf("The gate %s is not Ready: %s", g.Name, c.Message)
	default:
		return ""
	}
}

func joined(sentences ...string) string { return strings.TrimSpace(strings.Join(sentences, " ")) }

func codehostName(r *v1alpha1.DeploymentReview) string {
	return string(codehost.Of(r.Spec.HostingService).Name)
}
