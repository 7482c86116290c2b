package suite

import (
	"math/bits"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// LastPriority is that of status messages, which come after every Job that can be created. Higher priorities are reconciled earlier:
// changed objects have 0, and those that a manager finds when it starts -100.
const LastPriority = -200

// Priority is that of a run that has changed: whether it may start, or only its message can change.
func (q *Queue) Priority(s *v1alpha1.Suite) int {
	if q.MayStart(s.Name) || s.Finished() {
		return q.StartPriority()
	}
	return q.StatusPriority()
}

// StartPriority is the lower, the more runs of the namespace may start: a team that starts hundreds of runs at once delays its own, and
// hardly those of others. It has few values, because a metric has it as a label.
func (q *Queue) StartPriority() int { return -bits.Len(uint(max(0, q.ready()-1))) }

// StatusPriority is the lower, the more runs of the namespace have not ended.
func (q *Queue) StatusPriority() int { return LastPriority - bits.Len(uint(q.Len())) }
