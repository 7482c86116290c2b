package queue

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Limits bound how many runs are active at once; 0 means no limit.
type Limits struct {
	Team        int32
	Trigger     map[string]int32 // by the Trigger's name
	Environment map[string]int32 // by the Environment's name
}

// NeedsSlot reports whether anything limits how many runs of the Trigger are active at once. The Environment may be nil.
func NeedsSlot(team *v1alpha1.Team, t *v1alpha1.Trigger, e *v1alpha1.Environment) bool {
	return team.Spec.MaxConcurrentSuites != 0 || t.Spec.MaxConcurrentSuites != 0 || (e != nil && e.Spec.MaxConcurrentSuites != 0)
}

// Limit is the maxConcurrentSuites that holds a run.
type Limit struct {
	Kind string // of the object that has it; "": none
	Most int32
}

// holder names the full limit that lasts longest, so that the message changes seldom: a run waits for its Trigger whether or not the Team
// has slots at the moment.
func (l Limits) holder(n need, full fullness) Limit {
	switch {
	case full.trigger:
		return Limit{"Trigger", l.Trigger[n.trigger]}
	case full.environment:
		return Limit{"Environment", l.Environment[n.environment]}
	default:
		return Limit{"Team", l.Team}
	}
}

func (l Limit) clause(s *v1alpha1.Suite, team string) string {
	name := map[string]string{"Trigger": s.Spec.Trigger.Name, "Environment": s.Spec.Environment, "Team": team}[l.Kind]
	return fmt.Sprintf("maxConcurrentSuites of the %s %s is %d", l.Kind, name, l.Most)
}

func (l Limits) needs(trigger, environment string) need {
	if l.Environment[environment] == 0 {
		return need{trigger: trigger}
	}
	return need{trigger, environment}
}

// smallest returns how many runs with a need can be active at once; 0 means no limit.
func (l Limits) smallest(n need) int32 {
	least := int32(0)
	for _, limit := range [...]int32{l.Team, l.Trigger[n.trigger], l.Environment[n.environment]} {
		if limit != 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

type slots struct {
	team                 int32
	trigger, environment map[string]int32
}

func newSlots() slots { return slots{trigger: map[string]int32{}, environment: map[string]int32{}} }

func (x *slots) add(m *member, n int32) {
	x.team += n
	addTo(x.trigger, m.trigger, n)
	addTo(x.environment, m.environment, n)
}

func addTo(counts map[string]int32, name string, n int32) {
	if counts[name] += n; counts[name] == 0 {
		delete(counts, name)
	}
}

func full(taken, limit int32) bool { return limit > 0 && taken >= limit }

// YieldsSlot reports whether others may overtake a waiting run, which could not have started when that was last tried.
func YieldsSlot(s *v1alpha1.Suite) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionJobAccepted)
	return s.AwaitsDeployment() || meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionInputsReady) ||
		(c != nil && c.Reason == v1alpha1.ReasonJobRefused)
}
