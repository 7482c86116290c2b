package queue_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// took is a run that has ended at a second after t0.
func took(name string, end int, d time.Duration, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := aSuite(name, 0, append(change, inState(v1alpha1.Passed("")))...)
	s.UID = types.UID(name)
	s.Status.CompletionTime = &metav1.Time{Time: t0.Add(time.Duration(end) * time.Second)}
	s.Status.StartTime = &metav1.Time{Time: s.Status.CompletionTime.Add(-d)}
	return s
}

func TestWait(t *testing.T) {
	smoke := took("a", 1, 10*time.Minute)
	for name, tc := range map[string]struct {
		reason string
		ended  []*v1alpha1.Suite
		limits queue.Limits
		ahead  int // beside the one that is active
		want   time.Duration
	}{
		"no run has ended": {
			reason: "Nothing is known.",
			limits: queue.Limits{Team: 1},
		},
		"first": {
			reason: "The active run may take as long as the last one.",
			ended:  []*v1alpha1.Suite{smoke}, limits: queue.Limits{Team: 1}, want: 10 * time.Minute,
		},
		"third": {
			reason: "The two before it take their time, too.",
			ended:  []*v1alpha1.Suite{smoke}, limits: queue.Limits{Team: 1}, ahead: 2, want: 30 * time.Minute,
		},
		"average": {
			reason: "Runs of the team count together.",
			ended:  []*v1alpha1.Suite{smoke, took("b", 2, 2*time.Minute, ofTrigger("other"))}, limits: queue.Limits{Team: 1}, want: 6 * time.Minute,
		},
		"its own Trigger": {
			reason: "Only runs of the Trigger use its slots.",
			ended:  []*v1alpha1.Suite{smoke, took("b", 2, 2*time.Minute, ofTrigger("other"))},
			limits: queue.Limits{Trigger: map[string]int32{"smoke": 1}}, want: 10 * time.Minute,
		},
		"seen twice": {
			reason: "A change of a run that has ended is no other run.",
			ended:  []*v1alpha1.Suite{smoke, took("b", 2, 2*time.Minute), smoke, smoke}, limits: queue.Limits{Team: 1}, want: 6 * time.Minute,
		},
		"never ran": {
			reason: "A run that was superseded in the queue took no slot.",
			ended:  []*v1alpha1.Suite{smoke, aSuite("b", 0, inState(v1alpha1.Superseded("")))}, limits: queue.Limits{Team: 1}, want: 10 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.New()
			setLimits(q, tc.limits)
			for _, s := range tc.ended {
				q.Set(s)
			}
			q.Set(aSuite("active", 0, withJob, keyed("active")))
			last := ""
			for i := range tc.ahead + 1 {
				last = fmt.Sprint("waiting-", i)
				q.Set(aSuite(last, 1+i, keyed(last)))
			}
			if position, _ := q.Position(last); position.Wait != tc.want || position.Number != tc.ahead+1 {
				t.Errorf("%s\ngot %+v, want position %d and %s", tc.reason, position, tc.ahead+1, tc.want)
			}
		})
	}
}

// TestWaitForgets: only the last ten runs count, in whatever order they are seen.
func TestWaitForgets(t *testing.T) {
	q := queue.New()
	q.SetTeamLimit(1)
	for i := range 10 {
		q.Set(took(fmt.Sprint("new-", i), 100-i, time.Minute))
		q.Set(took(fmt.Sprint("old-", i), i, time.Hour))
	}
	q.Set(aSuite("active", 0, withJob, keyed("active")))
	q.Set(aSuite("waiting", 1))
	if position, _ := q.Position("waiting"); position.Wait != time.Minute {
		t.Errorf("got %+v, want a minute", position)
	}
}

func TestQueueMessage(t *testing.T) {
	s := aSuite("self", 1, ofTrigger("visual"), inEnvironment("staging"))
	trigger, environment, team := queue.Limit{Kind: "Trigger", Most: 2}, queue.Limit{Kind: "Environment", Most: 1}, queue.Limit{Kind: "Team", Most: 10}
	for _, tc := range []struct {
		position queue.Position
		want     string
	}{
		{queue.Position{Number: 1, Limit: trigger}, "Waiting for a slot, at position 1 in the queue: maxConcurrentSuites of the Trigger visual is 2."},
		{queue.Position{Number: 1, Limit: environment}, "Waiting for a slot, at position 1 in the queue: maxConcurrentSuites of the Environment staging is 1."},
		{queue.Position{Number: 2, Limit: team, Wait: time.Second}, "Waiting for a slot, at position 2 in the queue: maxConcurrentSuites of the Team acme is 10. By the last runs, it starts within a minute."},
		{queue.Position{Number: 3, Limit: trigger, Wait: 11 * time.Minute}, "Waiting for a slot, at position 3 in the queue: maxConcurrentSuites of the Trigger visual is 2. By the last runs, it starts in about 15m."},
		{queue.Position{Number: 4, Limit: team, Wait: 48 * time.Hour}, "Waiting for a slot, at position 4 in the queue: maxConcurrentSuites of the Team acme is 10. By the last runs, it starts in more than a day."},
		{queue.Position{Number: 21, Wait: time.Minute}, "Waiting for a slot, with more than 20 runs ahead."},
	} {
		if got := tc.position.Message(s, "acme"); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.position, got, tc.want)
		}
	}
}
