package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// costly is an expression that a notification with a large variable takes long to be evaluated on.
func costly(t *v1alpha1.Trigger) {
	t.Spec.Match.Expression = "size(notification.variables) > 0"
}

// slowly has the clock go on whenever it is looked at.
func slowly(h *harness, step time.Duration) {
	h.Now = func() time.Time {
		now := h.clock.Now()
		h.clock.mu.Lock()
		defer h.clock.mu.Unlock()
		h.clock.now = now.Add(step)
		return now
	}
}

func manyCostly(n int) setup {
	objects := acme()
	for i := range n {
		objects = append(objects, trigger(fmt.Sprintf("t%02d", i), costly))
	}
	return setup{objects: objects}
}

// TestMatchingHasABudget: the Triggers of one team must not keep the processors for ever.
func TestMatchingHasABudget(t *testing.T) {
	h := start(t, manyCostly(60))
	slowly(h, 300*time.Millisecond) // it is looked at after every fourth Trigger
	w := h.exchange(post(`{"variables":{"A":"b"}}`))
	got := decode[problem](t, w)
	if w.Code != 503 || got.FailureCode != "overloaded" || w.Header().Get("Retry-After") == "" || len(h.suites()) != 0 {
		t.Errorf("%d %s, and %d Suites; want 503 with Retry-After, and none", w.Code, w.Body, len(h.suites()))
	}
	if !strings.Contains(got.Detail, "more than 2s") || !strings.Contains(got.Detail, `"t27"`) {
		t.Errorf("%s; want the budget, and where it ended", got.Detail)
	}
}

// TestMatchingEndsWithItsClient: nobody is there to be answered.
func TestMatchingEndsWithItsClient(t *testing.T) {
	h := start(t, manyCostly(20))
	ctx, leave := context.WithCancel(t.Context())
	looks := 0
	h.Now = func() time.Time {
		if looks++; looks == 4 {
			leave()
		}
		return noon
	}
	h.ServeHTTP(httptest.NewRecorder(), post(`{"variables":{"A":"b"}}`).WithContext(ctx))
	if log := h.log.String(); !strings.Contains(log, "stopped at the Trigger") || len(h.suites()) != 0 {
		t.Errorf("%d Suites, and the log: %s", len(h.suites()), log)
	}
}

// TestExplainingHasABudget: beyond it the answer says what is known.
func TestExplainingHasABudget(t *testing.T) {
	s := manyCostly(3)
	s.objects = append(s.objects, trigger("z", costly, func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"x"} }))
	h := start(t, s)
	h.Limits.MatchBudget = 2500 * time.Millisecond
	looks := 0
	h.Now = func() time.Time { // matching looks once; explaining before each Trigger, and after it
		looks++
		return noon.Add(time.Duration(looks) * time.Second)
	}
	got := decode[explainedReply](t, h.exchange(post(`{"variables":{"A":"b"}}`, query("dryRun=true"))))
	said := map[string]string{}
	for _, e := range got.Explanations {
		said[e.TriggerID] = fmt.Sprintf("%v by %s", e.Matched, e.Conditions[0].Name)
	}
	want := map[string]string{"t00": "true by expression", "t01": "true by limit", "t02": "true by limit", "z": "false by limit"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if m := got.Explanations[3].Conditions[0].Message; !strings.Contains(m, "more than 2.5s") {
		t.Errorf("it says %q", m)
	}
}

// TestMatchingWaitsForATurn, though not for ever, and of what one team asks others do not wait.
func TestMatchingWaitsForATurn(t *testing.T) {
	block := &blocking{entered: make(chan struct{}), leave: make(chan struct{})}
	h := start(t, setup{objects: acme(), config: func(c *Config) { c.Triggers = block }, limits: func(l *Limits) { l.MatchWait = 50 * time.Millisecond }})
	h.turns = newTurns(2)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), post(withSHA)) })
	<-block.entered
	defer close(block.leave)
	w := h.exchange(post(withSHA))
	if got := decode[problem](t, w); w.Code != http.StatusServiceUnavailable || got.FailureCode != "overloaded" {
		t.Errorf("%d %s, want 503 for the team that takes its turns up", w.Code, w.Body)
	}
	end, err := h.turns.take(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	end()
	if len(h.turns.teams) != 1 {
		t.Errorf("%d queues, want that of the team at work", len(h.turns.teams))
	}
}

// TestTurnsAreShared: of two teams, each gets every other turn, however many one of them asks for.
func TestTurnsAreShared(t *testing.T) {
	turns := newTurns(1)
	first, err := turns.take(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 20)
	var all sync.WaitGroup
	ask := func(team string) {
		all.Go(func() {
			end, err := turns.take(t.Context(), team)
			if err != nil {
				t.Error(err)
				return
			}
			order <- team
			end()
		})
	}
	for range 10 {
		ask("busy")
	}
	for users := 0; users < 11; time.Sleep(time.Millisecond) {
		turns.mu.Lock()
		users = turns.teams["busy"].users
		turns.mu.Unlock()
	}
	ask("other")
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		turns.mu.Lock()
		waits = turns.teams["other"] != nil && len(turns.teams["other"].slots) == 1
		turns.mu.Unlock()
	}
	time.Sleep(10 * time.Millisecond) // now it waits for the processor
	first()
	all.Wait()
	if got := []string{<-order, <-order}; got[0] != "other" && got[1] != "other" {
		t.Errorf("the first turns went to %v, want the other team among them", got)
	}
	if len(turns.teams) != 0 {
		t.Errorf("%d queues are left behind", len(turns.teams))
	}
}
