package verdict

import (
	"cmp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// test is what has a result of its own. A revision that is no SHA may be one of several repositories.
type test struct {
	trigger string
	part    commit.Part
}

func (q Question) testOf(s *v1alpha1.Suite) test {
	c := q.commitOf(s)
	part := c.Key()
	if commit.IsSHA(c.Revision) {
		part.Repository = ""
	}
	return test{s.Spec.Trigger.Name, part}
}

func (q Question) requirements(runs []*v1alpha1.Suite) (all []Requirement) {
	byTest, missing := map[test][]*v1alpha1.Suite{}, q.siblings(runs)
	required := q.required()
	for _, s := range runs {
		if t := q.testOf(s); q.requires(t.trigger) {
			byTest[t] = append(byTest[t], s)
			delete(missing, t)
			delete(required, t.trigger)
		}
	}
	for t, own := range byTest {
		r := decide(own)
		if r.State == Passed {
			r.State, r.Problem = q.freshness(r.Run, own)
		}
		r.Trigger, r.Service = t.trigger, t.part.Service
		all = append(all, r)
	}
	for t := range missing {
		delete(required, t.trigger)
		all = append(all, Requirement{Trigger: t.trigger, Service: t.part.Service, State: None,
			Problem: "It matched a deployment of this commit, and has no run of it."})
	}
	for name, r := range required {
		r.Trigger, r.State = name, None
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Requirement) int {
		return cmp.Or(bySeverity(a, b), strings.Compare(a.Trigger, b.Trigger), strings.Compare(a.Service, b.Service), compareRuns(a.Run, b.Run))
	})
	return all
}

// compareRuns tells apart the requirements of a tag that two repositories have.
func compareRuns(a, b *v1alpha1.Suite) int {
	if a == nil || b == nil {
		return 0
	}
	return strings.Compare(a.Name, b.Name)
}

// siblings are the tests that matched the deployment of a run. Each service has its own.
func (q Question) siblings(runs []*v1alpha1.Suite) map[test]bool {
	all := map[test]bool{}
	for _, s := range runs {
		t := q.testOf(s)
		for _, t.trigger = range s.Spec.Siblings {
			if q.requires(t.trigger) {
				all[t] = true
			}
		}
	}
	return all
}

func (q Question) requires(trigger string) bool {
	if named := q.rule().Triggers; len(named) > 0 {
		return slices.Contains(named, trigger)
	}
	return q.exists(trigger)
}

func (q Question) exists(trigger string) bool {
	return slices.ContainsFunc(q.Triggers, func(t *v1alpha1.Trigger) bool { return t.Name == trigger })
}

// required are the Triggers that must have a run, whatever the runs say, and why they have none if they do not.
func (q Question) required() map[string]Requirement {
	all := map[string]Requirement{}
	for _, name := range q.rule().Triggers {
		switch {
		case slices.Contains(q.LeftOut, name):
			all[name] = tooLarge
		case q.exists(name):
			all[name] = Requirement{Problem: "It has no run of this commit."}
		default:
			all[name] = noSuchTrigger
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, t := range q.Triggers {
		if problem := v1alpha1.ReadyProblem(t.Status.Conditions); problem != "" {
			all[t.Name] = notReady(t, problem)
		}
	}
	for _, name := range q.LeftOut {
		all[name] = tooLarge
	}
	return all
}
