package eventsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
)

type fakeHook struct {
	attempts []github.Attempt
	since    time.Time
	asked    []int64
	fails    error
}

func (h *fakeHook) Deliveries(_ context.Context, since time.Time) ([]github.Attempt, error) {
	h.since = since
	return h.attempts, nil
}

func (h *fakeHook) Redeliver(_ context.Context, attempt int64) error {
	h.asked = append(h.asked, attempt)
	return h.fails
}

// TestRound: what failed is repeated, also beside one that is refused. A host that limits requests is left alone until the next round.
func TestRound(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	failed := func(id int64, guid string) github.Attempt {
		return github.Attempt{ID: id, GUID: guid, Event: "deployment_status", Code: 503, At: now.Add(-5 * time.Minute)}
	}
	for name, tc := range map[string]struct {
		fails error
		want  []int64
	}{
		"accepted": {nil, []int64{1, 2}}, "refused": {errors.New("422"), []int64{1, 2}},
		"limited": {fmt.Errorf("%w: until noon", github.ErrRateLimit), []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			hook := &fakeHook{attempts: []github.Attempt{failed(2, "b"), failed(1, "a")}, fails: tc.fails}
			(&Redeliverer{Hook: hook, Clock: clocktesting.NewFakePassiveClock(now)}).round(t.Context())
			if !slices.Equal(hook.asked, tc.want) || !hook.since.Equal(now.Add(-55*time.Minute)) {
				t.Errorf("asked for %v of those since %s", hook.asked, hook.since)
			}
		})
	}
}
