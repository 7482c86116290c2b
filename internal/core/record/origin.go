package record

import (
	"cmp"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// StartedBy says who asked for a run, as a noun. Of a schedule, at is the time; of a rerun, by is the person, if that is known.
func StartedBy(o v1alpha1.Origin, at time.Time, by string) string {
	switch o {
	case v1alpha1.OriginNotification:
		return "a notification"
	case v1alpha1.OriginRollout:
		return "a rollout of the workloads"
	case v1alpha1.OriginEvent:
		return "an event of a code host or a GitOps controller"
	case v1alpha1.OriginSchedule:
		return "the schedule of the Trigger, for " + at.UTC().Format(time.RFC3339)
	case v1alpha1.OriginRerun:
		return "a rerun, requested by " + cmp.Or(by, "a person")
	case v1alpha1.OriginRetry:
		return "Postflight, as a retry after an error"
	case v1alpha1.OriginRepetition:
		return "Postflight, because what was tested changed"
	case v1alpha1.OriginManual:
		return "a person or a tool that created the Suite"
	default:
		return string(o)
	}
}
