package view

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TypicalTimes returns how long runs of a Trigger take, for the few runs that have not ended.
func TypicalTimes(all []*v1alpha1.Suite, now time.Time) func(*v1alpha1.Suite) time.Duration {
	known := map[string]time.Duration{}
	return func(s *v1alpha1.Suite) time.Duration {
		if s.Finished() {
			return 0
		}
		name := s.Spec.Trigger.Name
		typical, ok := known[name]
		if !ok {
			typical = HistoryOf(RunsOfTrigger(all, name), now).Typical
			known[name] = typical
		}
		return typical
	}
}

// RunsOfTrigger returns the runs of a Trigger.
func RunsOfTrigger(all []*v1alpha1.Suite, trigger string) (own []*v1alpha1.Suite) {
	for _, s := range all {
		if s.Spec.Trigger.Name == trigger {
			own = append(own, s)
		}
	}
	return own
}
