package endpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/match"
)

// match finds the Triggers that want the notification, in a turn of the team's, and as long as the
// client is there and the budget lasts.
func (o *order) match(ctx context.Context) ([]*v1alpha1.Trigger, error) {
	end, err := o.turn(ctx)
	if err != nil {
		return nil, &failure{code: "overloaded", cause: err,
			message: "The server holds as many notifications against Triggers as it can. Send the notification again in a few seconds."}
	}
	defer end()
	w := o.watch(ctx)
	matched, err := o.api.Triggers.Match(o.namespace, o.notification, w.over)
	var stopped *match.StoppedError
	if errors.As(err, &stopped) {
		return nil, &failure{code: "overloaded", cause: err, message: fmt.Sprintf(
			"To hold the notification against the team's Triggers took more than %s, so it was stopped at the Trigger %q, and no run was created. "+
				"Send the notification again; if that fails too, make the expressions of the Triggers cheaper, or the variables shorter.",
			o.api.Limits.MatchBudget, stopped.Trigger)}
	}
	return matched, err
}

// turn waits for a turn of the team's to look at Triggers.
func (o *order) turn(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.Limits.MatchWait)
	defer cancel()
	return o.api.turns.take(ctx, o.team)
}

// explanations say of each Trigger why it matched or not. They are made one by one, each in a turn, so
// that nobody waits for a client that reads slowly. Beyond the budget there is no more to say than
// which Triggers matched.
func (o *order) explanations(ctx context.Context, matched []*v1alpha1.Trigger) iter.Seq[match.Explanation] {
	return func(yield func(match.Explanation) bool) {
		w := o.watch(ctx)
		end := o.resume(ctx, w)
		defer func() { end() }()
		for e := range o.api.Triggers.Explain(o.namespace, o.notification, w.over) {
			w.pause()
			end()
			end = func() {}
			if e.Skipped {
				e = o.skipped(e.Trigger, matched)
			}
			if !yield(e) {
				return
			}
			end = o.resume(ctx, w)
		}
	}
}

// resume goes on with the explanations; where there is no turn to be had they end.
func (o *order) resume(ctx context.Context, w *watch) (end func()) {
	if w.done {
		return func() {}
	}
	end, err := o.turn(ctx)
	if err != nil {
		w.done = true
		return func() {}
	}
	w.since = o.api.Now()
	return end
}

func (o *order) skipped(t *v1alpha1.Trigger, matched []*v1alpha1.Trigger) match.Explanation {
	wanted := slices.Contains(matched, t)
	return match.Explanation{Trigger: t, Matched: wanted, Criteria: []match.CriterionResult{{Name: "limit", Held: wanted,
		Message: fmt.Sprintf("Why is not said: to explain the Triggers before this one took more than %s.", o.api.Limits.MatchBudget)}}}
}

// watch measures how long Triggers are looked at.
type watch struct {
	ctx    context.Context
	now    func() time.Time
	budget time.Duration
	since  time.Time
	done   bool
}

func (o *order) watch(ctx context.Context) *watch {
	return &watch{ctx: ctx, now: o.api.Now, budget: o.api.Limits.MatchBudget, since: o.api.Now()}
}

// over reports whether to stop: the budget is used up, or nobody waits for the answer any more.
func (w *watch) over() bool {
	w.done = w.done || w.ctx.Err() != nil || w.now().Sub(w.since) > w.budget
	return w.done
}

// pause takes what was used from the budget; since is to be set before it goes on.
func (w *watch) pause() {
	now := w.now()
	w.budget -= now.Sub(w.since)
	w.since = now
}
