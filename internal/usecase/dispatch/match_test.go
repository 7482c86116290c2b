package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// costly is an expression whose evaluation on a large variable takes long.
func costly(t *v1alpha1.Trigger) {
	t.Spec.Match.Expression = "size(notification.variables) > 0"
}

// slowly advances the clock by step at each reading.
func slowly(h *harness, step time.Duration) {
	h.Clock = clockFunc(func() time.Time {
		defer h.clock.Step(step)
		return h.clock.Now()
	})
}

func manyCostly(n int) setup {
	objects := acme()
	for i := range n {
		objects = append(objects, trigger(fmt.Sprintf("t%02d", i), costly))
	}
	return setup{objects: objects}
}

// TestMatchingHasABudget: the Triggers of one team must not keep the processors forever.
func TestMatchingHasABudget(t *testing.T) {
	h := start(t, manyCostly(60))
	slowly(h, 300*time.Millisecond) // matching reads the clock after every fourth Trigger
	got := says(h.dispatch(`{"variables":{"A":"b"}}`))
	if !strings.HasPrefix(got, "overloaded: ") || len(h.suites()) != 0 {
		t.Errorf("%s, and %d Suites; want overloaded, and none", got, len(h.suites()))
	}
	if !strings.Contains(got, "more than 2s") || !strings.Contains(got, `"t27"`) {
		t.Errorf("%s; want the budget, and where it ended", got)
	}
}

// TestMatchingEndsWithItsClient: if the client has left, matching stops.
func TestMatchingEndsWithItsClient(t *testing.T) {
	h := start(t, manyCostly(20))
	ctx, leave := context.WithCancel(t.Context())
	looks := 0
	h.Clock = clockFunc(func() time.Time {
		if looks++; looks == 4 {
			leave()
		}
		return noon
	})
	_, err := h.dispatchIn(ctx, `{"variables":{"A":"b"}}`)
	var stopped *match.StoppedError
	if !errors.As(err, &stopped) || len(h.suites()) != 0 {
		t.Errorf("%d Suites, and %v, want none, and that it was stopped", len(h.suites()), err)
	}
}

// TestExplainingHasABudget: when the budget is spent, the answer has the explanations so far.
func TestExplainingHasABudget(t *testing.T) {
	s := manyCostly(3)
	s.objects = append(s.objects, trigger("z", costly, func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"x"} }))
	h := start(t, s)
	h.Limits.MatchBudget = 2500 * time.Millisecond
	looks := 0
	h.Clock = clockFunc(func() time.Time { // matching reads it once; explaining before each Trigger, and after it
		looks++
		return noon.Add(time.Duration(looks) * time.Second)
	})
	explanations := slices.Collect(h.notify(`{"variables":{"A":"b"}}`, dryRun).Explanations)
	got := map[string]string{}
	for _, e := range explanations {
		got[e.Trigger.Name] = fmt.Sprintf("%v by %s", e.Matched, e.Criteria[0].Name)
	}
	want := map[string]string{"t00": "true by expression", "t01": "true by limit", "t02": "true by limit", "z": "false by limit"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m := explanations[3].Criteria[0].Message; !strings.Contains(m, "more than 2.5s") {
		t.Errorf("the message is %q", m)
	}
}

// TestMatchingWaitsForATurn: the wait is bounded, and one team does not delay others.
func TestMatchingWaitsForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
		h := start(t, setup{objects: acme(), config: func(c *Config) { c.Triggers = block }, limits: func(l *Limits) { l.MatchWait = 50 * time.Millisecond }})
		h.matching = fairness.NewSemaphore(2)
		var all sync.WaitGroup
		defer all.Wait()
		all.Go(func() { h.notify(withSHA) })
		<-block.entered
		defer close(block.leave)
		if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, "overloaded: ") {
			t.Errorf("%s, want overloaded for the team that uses up its turns", got)
		}
		release, err := h.matching.Acquire(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

// blocking blocks until leave is closed, and then matches nothing.
type blocking struct {
	match.Index
	entered, leave chan struct{}
}

func (b *blocking) Match(string, *notification.Notification, func() bool) ([]*v1alpha1.Trigger, error) {
	b.entered <- struct{}{}
	<-b.leave
	return nil, nil
}

// clockFunc is a clock that a test drives.
type clockFunc func() time.Time

func (f clockFunc) Now() time.Time                  { return f() }
func (f clockFunc) Since(t time.Time) time.Duration { return f().Sub(t) }
