package queue_test

import (
	"fmt"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// TestPriorities: what a team with few runs asks for comes before what one with many does, and Jobs before messages.
func TestPriorities(t *testing.T) {
	of := func(runs int, limits queue.Limits) (start, status, waiting int) {
		q := queue.New()
		setLimits(q, limits)
		var last *v1alpha1.Suite
		for i := range runs {
			last = aSuite(fmt.Sprintf("run-%d", i), i+1, keyed(fmt.Sprint(i)))
			q.Set(last)
		}
		return q.StartPriority(), q.StatusPriority(), q.Priority(last)
	}
	start, status, waiting := of(1, queue.Limits{})
	if start != 0 || waiting != 0 || status >= queue.LastPriority {
		t.Errorf("one run that may start: %d, its message: %d, the run itself: %d", start, status, waiting)
	}
	manyStart, manyStatus, _ := of(1000, queue.Limits{})
	if manyStart >= start || manyStart <= -100 || manyStatus >= status {
		t.Errorf("a thousand that may start: %d, their messages: %d; one: %d and %d", manyStart, manyStatus, start, status)
	}
	limitedStart, limitedStatus, limited := of(1000, queue.Limits{Team: 1})
	if limitedStart != 0 || limited != limitedStatus || limited >= queue.LastPriority {
		t.Errorf("one of a thousand may start: %d, the message of the last: %d, want %d", limitedStart, limited, limitedStatus)
	}
}
