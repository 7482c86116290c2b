package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

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
