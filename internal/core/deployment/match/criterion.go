package match

import (
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// criterion is a compiled condition of a Trigger. It is safe for concurrent use.
type criterion interface {
	holds(*activation) bool
	explain(*activation) string // a sentence that says why the criterion holds, or why not
	weight() int                // how much work it is to try the criterion; see stopEvery
	// keys are choices of buckets: every notification that meets the criterion has one of the keys of each choice.
	keys() [][]bucketKey
}

// simple is embedded by criteria that are cheap, and by those without keys.
type simple struct{}

func (simple) weight() int         { return 0 }
func (simple) keys() [][]bucketKey { return nil }

// definitions are in the order in which they are explained. The function compile returns nil if the Trigger does not set the field; its
// error continues the sentence "spec.match.<field> ...". The last column says whether the condition may leave out a deployment that
// replaces one that it matches: repositories do not replace each other, and an Environment usually has one deployment type.
var definitions = []struct {
	field   string
	compile func(*v1alpha1.TriggerSpec) (criterion, error)
	narrows bool
}{
	{"paused", compilePaused, true},
	{"schedule", compileSchedule, true},
	{"branches", compileBranches, true},
	{"deploymentTypes", compileDeploymentTypes, false},
	{"repositories", compileRepositories, false},
	{"services", compileServices, true}, // a deployment of the whole repository replaces each service
	{"pullRequest", compilePullRequest, true},
	{expressionField, compileExpression, true},
}

// MayMissDeployments reports whether something else may replace what a Trigger matches without a run of the Trigger.
func MayMissDeployments(spec *v1alpha1.TriggerSpec) bool {
	for _, d := range definitions {
		if c, err := recoverPanic(d.compile, spec); d.narrows && (c != nil || err != nil) {
			return true
		}
	}
	return false
}

const expressionField = "expression"

// pausedCriterion never holds. Its field is in spec, not in spec.match, and always compiles.
type pausedCriterion struct{ simple }

func compilePaused(spec *v1alpha1.TriggerSpec) (criterion, error) {
	if !spec.Paused {
		return nil, nil
	}
	return pausedCriterion{}, nil
}

func (pausedCriterion) holds(*activation) bool { return false }

func (pausedCriterion) explain(*activation) string {
	return "The Trigger is paused; it matches nothing until spec.paused is false."
}

// keys has a choice without a key: the Trigger is in no bucket.
func (pausedCriterion) keys() [][]bucketKey { return [][]bucketKey{nil} }

// scheduleCriterion never holds, like pausedCriterion: internal/core/run/schedule matches what is deployed without it.
type scheduleCriterion struct{ pausedCriterion }

func compileSchedule(spec *v1alpha1.TriggerSpec) (criterion, error) {
	if spec.Schedule == nil || !spec.Schedule.Only {
		return nil, nil
	}
	return scheduleCriterion{}, nil
}

func (scheduleCriterion) explain(*activation) string {
	return "Only the schedule of the Trigger starts runs; it matches no notification until spec.schedule.only is false."
}

// pullRequest holds if the notification is of a pull or merge request; if not only, then if it is of none.
type pullRequest struct {
	simple
	only bool
}

func compilePullRequest(spec *v1alpha1.TriggerSpec) (criterion, error) {
	switch policy := spec.Match.PullRequest; policy {
	case "":
		return nil, nil
	case v1alpha1.PullRequestOnly, v1alpha1.PullRequestNever:
		return pullRequest{only: policy == v1alpha1.PullRequestOnly}, nil
	default:
		return nil, fmt.Errorf("is %q; write Only or Never", policy)
	}
}

func (p pullRequest) holds(a *activation) bool { return (a.PullRequestNumber != 0) == p.only }

func (p pullRequest) explain(a *activation) string {
	text := "The notification has no pull request number"
	if a.PullRequestNumber != 0 {
		text = fmt.Sprintf("The notification is of pull request %d", a.PullRequestNumber)
	}
	switch {
	case p.holds(a):
		return text + "."
	case p.only:
		return text + ", and the Trigger asks for one: send pull_request_number or merge_request_number."
	default:
		return text + ", and the Trigger asks for none."
	}
}
