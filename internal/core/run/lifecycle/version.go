package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxProgress = 3  // workloads that a message describes; others are counted
	maxType     = 63 // bytes of a deployment type that a message shows
)

// version is what a run waits for: a commit of a repository or of one service of it, in the workloads of an Environment.
type version struct {
	environment *v1alpha1.Environment
	commit.Part
	sha string // empty: the notification named none, and whatever is rolled out counts
}

// awaited returns the version that a run has to wait for; false: its Trigger or its Environment says that there is none.
func awaited(o Observation) (v version, waits bool) {
	if !o.Trigger.Spec.Ready.ForWorkloads() {
		return v, false
	}
	v = version{environment: o.Environment, sha: o.Suite.Spec.Deployment.SHA}
	v.Part = ledger.PartOf(o.Environment, o.Suite.Spec.Deployment.Repository, o.Suite.Spec.Deployment.Service)
	return v, len(o.Environment.Spec.Workloads) > 0
}

// unnamed says that no workload is of the repository or the service that was notified: then nothing would show that its version is there.
func (v version) unnamed() string {
	services := ledger.Services(v.environment, v.Repository)
	if v.Service == "" && len(services) > 0 || ledger.HasWorkloads(v.environment, v.Part) {
		return ""
	}
	notified, named, correct := "The notification names no repository", ledger.Repositories(v.environment), "the repository"
	switch {
	case v.Service != "" && len(services) > 0:
		notified, named, correct = "The notification names the service "+v.Part.String(), services, "the service"
	case v.Repository != "":
		notified = "The notification names the repository " + suite.ShownRepository(v.Repository)
	}
	return fmt.Sprintf("%s, and the workloads of %s are of %s, so nothing shows when its version is there, for which ready of the Trigger "+
		"waits. "+
		"Correct %s in the Environment, or in the notification, and notify again.",
		notified, v.environment.Name, suite.ShownRepository(strings.Join(named, ", ")), correct)
}

// WaitsForNothing reports whether the ready of a Trigger has no effect in its Environment.
func WaitsForNothing(t *v1alpha1.Trigger, e *v1alpha1.Environment) bool {
	r := t.Spec.Ready
	return r != nil && r.HTTP == nil && (!r.ForWorkloads() || len(e.Spec.Workloads) == 0)
}

// versionMissing waits for the version of a run, or ends the run if nothing would show it.
func versionMissing(o Observation, now time.Time) *Decision {
	v, waits := awaited(o)
	if !waits || o.Creation.Result != NotTried {
		return nil
	}
	if problem := v.unnamed(); problem != "" {
		return condition(v1alpha1.Error(problem))
	}
	if progress := v.progress(); progress != "" {
		return awaitDeployment(o, v, progress, now)
	}
	return nil
}

// onlyMessage reports whether a run that has not ended keeps its place: others may overtake it from when it waits for its version, and
// cannot once it does not.
func (d Decision) onlyMessage(o Observation) bool {
	waits := d.NotRolledOut != ""
	queued := d.OnHold || waits || o.Position != nil && o.Position.Number > 0
	return queued && !Ended(d.Condition) && waits == o.Suite.AwaitsDeployment()
}

// awaitDeployment waits for an event of the Environment, with a timer for the time limit. It takes neither a slot nor a place in the queue.
func awaitDeployment(o Observation, v version, progress string, now time.Time) *Decision {
	limit := o.Trigger.Spec.Ready.Limit()
	waited := now.Sub(since(o.Suite, v1alpha1.ConditionDeploymentReady, now))
	if waited >= limit {
		return &Decision{NotRolledOut: progress, Condition: v1alpha1.Error(v.late(progress+typeHint(o, true), limit))}
	}
	return &Decision{
		NotRolledOut: progress,
		Condition: v1alpha1.Queued(fmt.Sprintf(
			"Waiting for %s in %s: %s%s The run ends as Error if that takes longer than %s.", v, o.Environment.Name, progress,
			typeHint(o, false), plaintext.Duration(limit))),
		RequeueAfter: limit - waited,
	}
}

// typeHint helps if the notification may be of a deployment elsewhere, whose version never comes here. It begins with a space.
func typeHint(o Observation, late bool) string {
	kind, e, t := o.Suite.Spec.Deployment.Type, o.Environment.Name, o.Trigger.Name
	by := o.Suite.Origin()
	switch {
	case !match.AnyType(o.Trigger) || kind == e || by == v1alpha1.OriginRollout || by == v1alpha1.OriginSchedule:
		return ""
	case kind != "":
		return fmt.Sprintf(" It was notified with the deployment type %q. If that is not a deployment to %s, set match.deploymentTypes of the "+
			"Trigger %s.", plaintext.Line(kind, maxType), e, t)
	case late:
		return fmt.Sprintf(" It was notified without a deployment type. If it was deployed elsewhere, send one, and set match.deploymentTypes "+
			"of the Trigger %s.", t)
	default:
		return ""
	}
}

// String names the version as the object of a sentence.
func (v version) String() string {
	part := v.Part.String()
	switch {
	case part == "":
		return cmp.Or(suite.ShownSHA(v.sha), "the rollout")
	case v.sha == "":
		return "the rollout of " + part
	default:
		return suite.ShownSHA(v.sha) + " of " + part
	}
}

// deployed returns what the Environment has of the part: one entry for a service, and one for each service of a whole repository. It
// returns nothing until the status describes the present workloads.
func (v version) deployed() (all []v1alpha1.Deployed) {
	e := v.environment
	if e.Status.ObservedGeneration != e.Generation {
		return nil
	}
	for _, d := range e.Status.Deployed {
		if v.Overlaps(commit.PartOf(d.Repository, d.Service)) && len(d.Workloads) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// progress returns how far the version is, as sentences, or "" if it is rolled out.
func (v version) progress() string {
	all := v.deployed()
	if len(all) == 0 {
		return strings.TrimRight(cmp.Or(v1alpha1.ReadyProblem(v.environment.Status.Conditions), "Its workloads have not been read yet"),
			".") + "."
	}
	var says []string
	message, missing := "", false
	for _, d := range all {
		if d.Ready != nil && *d.Ready && v.matches(d.SHA) {
			continue
		}
		missing, message = true, cmp.Or(message, d.Message)
		for _, w := range d.Workloads {
			if !w.Ready || !v.matches(w.SHA) {
				says = append(says, v.missingIn(w))
			}
		}
	}
	if !missing {
		return ""
	}
	if more := len(says) - maxProgress; more > 0 {
		says = append(says[:maxProgress], fmt.Sprintf("And %d more.", more))
	}
	return cmp.Or(strings.Join(says, " "), message, "Its workloads are being rolled out.")
}

// missingIn says what one workload has instead.
func (v version) missingIn(w v1alpha1.DeployedWorkload) string {
	object := "The " + w.Kind + " " + w.Name
	switch {
	case w.SHA != "" && !v.matches(w.SHA):
		return strings.TrimSpace(fmt.Sprintf("%s has %s. %s", object, suite.ShownSHA(w.SHA), w.Message))
	case w.Message != "":
		return w.Message
	case w.SHA == "":
		return object + " names no commit."
	default:
		return object + " is being rolled out."
	}
}

// late is why the run ends.
func (v version) late(progress string, limit time.Duration) string {
	what := v.String()
	e := v.environment.Name
	check := fmt.Sprintf(" Check what deploys it, which \"postflight environments show %s -n %s\" shows, then notify again.", e,
		v.environment.Namespace)
	coming := func(w v1alpha1.DeployedWorkload) bool { return v.matches(w.SHA) }
	all := v.deployed()
	i := slices.IndexFunc(all, func(d v1alpha1.Deployed) bool {
		return d.SHA != "" && !v.matches(d.SHA) && !slices.ContainsFunc(d.Workloads, coming)
	})
	if i < 0 {
		return fmt.Sprintf("In %s, %s was not complete within %s: %s%s", e, what, plaintext.Duration(limit), progress, check)
	}
	has := v
	has.sha, has.Service = all[i].SHA, all[i].Service
	return fmt.Sprintf("%s has %s, not %s: the rollout did not happen within %s. %s%s", e, has, suite.ShownSHA(v.sha),
		plaintext.Duration(limit), progress, check)
}

// matches reports whether a text means the commit: either may be the beginning of the other, as Git shortens it.
func (v version) matches(sha string) bool {
	return v.sha == "" || commit.SameSHA(v.sha, sha)
}

// setDeploymentReady forgets since when the run waits for its version, if it waits for something else: only time in which it would have
// started counts. While it waits for its version, nothing else is tried.
func setDeploymentReady(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	switch {
	case d.NotRolledOut != "":
		setCondition(s, v1alpha1.NotRolledOut(d.NotRolledOut), now)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionJobAccepted)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionInputsReady)
	case Ended(d.Condition) || !s.AwaitsDeployment():
	case d.RolledOut || o.Job != nil:
		setCondition(s, v1alpha1.RolledOut(), now)
	default:
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionDeploymentReady)
	}
}
