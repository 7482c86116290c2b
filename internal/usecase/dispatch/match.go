package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// Matcher finds the Triggers of a namespace that match a notification, ordered by name.
type Matcher interface {
	// Match returns a *match.StoppedError if stop returns true.
	Match(namespace string, n *notification.Notification, stop func() bool) ([]*v1alpha1.Trigger, error)
	// Explain skips the rest once stop returns true.
	Explain(namespace string, n *notification.Notification, stop func() bool) iter.Seq[match.Explanation]
}

// match stops if the client leaves, or the time budget is spent.
func (o *operation) match(ctx context.Context) (triggers []*v1alpha1.Trigger, err error) {
	if o.Origin.trigger != nil {
		return []*v1alpha1.Trigger{o.Origin.trigger}, nil
	}
	ctx, span := o.Tracer.Start(ctx, "match")
	defer func() { endMatch(span, triggers, err) }()
	release, err := o.acquire(ctx)
	if err != nil {
		return nil, &Error{Kind: Overloaded, cause: err,
			Message: "The server is matching as many notifications as it can. Send the notification again in a few seconds."}
	}
	defer release()
	matched, err := o.Triggers.Match(o.namespace, o.Notification, o.newTimeBudget(ctx).spent)
	if stopped, ok := errors.AsType[*match.StoppedError](err); ok {
		return nil, &Error{Kind: Overloaded, cause: err, Message: fmt.Sprintf(
			"Matching the notification with the team's Triggers took more than %s, so it was stopped at the Trigger %q, and no run was created. "+
				"Send the notification again; if that fails too, make the expressions of the Triggers cheaper, or the variables shorter.",
			o.Limits.MatchBudget, stopped.Trigger)}
	}
	return o.known(o.Origin.narrow(matched)), err
}

// known leaves the Triggers of Environments that exist for the sender.
func (o *operation) known(matched []*v1alpha1.Trigger) []*v1alpha1.Trigger {
	if !o.Grant.Delegated() {
		return matched
	}
	return slices.DeleteFunc(slices.Clone(matched), func(t *v1alpha1.Trigger) bool { return !o.Grant.Knows(t.Spec.Environment) })
}

// checkEnvironments refuses a notification as a whole: if it started only some runs, the sender would not know that others are missing.
func (o *operation) checkEnvironments(triggers []*v1alpha1.Trigger) error {
	for _, t := range triggers {
		if problem := o.Grant.EnvironmentProblem(t.Spec.Environment); problem != "" {
			return &Error{Kind: Forbidden, Message: problem}
		}
	}
	return nil
}

// acquire waits until the team may evaluate Triggers.
func (o *operation) acquire(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limits.MatchWait)
	defer cancel()
	return o.matching.Acquire(ctx, o.Team.Name)
}

// explanations end with the Triggers that were left out.
func (o *operation) explanations(ctx context.Context, matched []*v1alpha1.Trigger, left match.LeftOut) iter.Seq[match.Explanation] {
	return func(yield func(match.Explanation) bool) {
		for e := range o.explanationsOfIndex(ctx, matched) {
			if !yield(e) {
				return
			}
		}
		for _, e := range left.Explanations() {
			if !yield(e) {
				return
			}
		}
	}
}

// explanationsOfIndex release the slot between Triggers, so that a slow client delays no other. After the budget, they say only what
// matched.
func (o *operation) explanationsOfIndex(ctx context.Context, matched []*v1alpha1.Trigger) iter.Seq[match.Explanation] {
	return func(yield func(match.Explanation) bool) {
		budget := o.newTimeBudget(ctx)
		release := o.resume(ctx, budget)
		defer func() { release() }()
		for e := range o.Triggers.Explain(o.namespace, o.Notification, budget.spent) {
			warning := ""
			if !e.Skipped {
				warning = job.ScriptWarning(e.Trigger)
			}
			budget.pause()
			release()
			release = func() {}
			name := e.Trigger.Spec.Environment
			if !o.Grant.Knows(name) || o.Grant.EnvironmentProblem(name) != "" { // it would tell of what the sender may not reach
				continue
			}
			if e.Skipped {
				e = o.skipped(e.Trigger, matched)
			}
			if warning != "" { // no condition, but people look here
				e.Criteria = append(e.Criteria, match.CriterionResult{Name: "jobTemplate", Held: true, Message: warning})
			}
			if !yield(e) {
				return
			}
			release = o.resume(ctx, budget)
		}
	}
}

// resume acquires the slot again. If that fails, the budget ends.
func (o *operation) resume(ctx context.Context, b *timeBudget) (release func()) {
	if b.exhausted {
		return func() {}
	}
	release, err := o.acquire(ctx)
	if err != nil {
		b.exhausted = true
		return func() {}
	}
	b.since = o.Clock.Now()
	return release
}

func (o *operation) skipped(t *v1alpha1.Trigger, matched []*v1alpha1.Trigger) match.Explanation {
	ok := slices.Contains(matched, t)
	return match.Explanation{Trigger: t, Matched: ok, Criteria: []match.CriterionResult{{Name: "limit", Held: ok,
		Message: fmt.Sprintf("Not explained: explaining the Triggers before this one took more than %s.", o.Limits.MatchBudget)}}}
}

type timeBudget struct {
	ctx       context.Context
	clock     clock.PassiveClock
	remaining time.Duration
	since     time.Time
	exhausted bool
}

func (o *operation) newTimeBudget(ctx context.Context) *timeBudget {
	return &timeBudget{ctx: ctx, clock: o.Clock, remaining: o.Limits.MatchBudget, since: o.Clock.Now()}
}

func (b *timeBudget) spent() bool {
	b.exhausted = b.exhausted || b.ctx.Err() != nil || b.clock.Since(b.since) > b.remaining
	return b.exhausted
}

// pause stops the clock until resume.
func (b *timeBudget) pause() {
	now := b.clock.Now()
	b.remaining -= now.Sub(b.since)
	b.since = now
}

// leftOut returns nothing for a schedule, which concerns one Trigger.
func (o *operation) leftOut() match.LeftOut {
	if o.LeftOut == nil || o.Origin.trigger != nil {
		return match.LeftOut{}
	}
	return o.LeftOut(o.namespace)
}

// findLeftOut is called after matching, with what was left out before it: the index loses Triggers later, and gets them later, than the
// answer of LeftOut changes.
func (o *operation) findLeftOut(before match.LeftOut) (match.LeftOut, error) {
	left := before.Union(o.leftOut())
	switch {
	case len(left.Names) == 0 && left.Unknown:
		return left, &Error{Kind: Overloaded, Message: "The server has not read all Triggers of the team yet, because there are very many, " +
			"so it is not known which of them match, and no run was created. Send the notification again in a few seconds."}
	case len(left.Names) > 0 && len(o.Grant.Environments) > 0: // a name would tell of what the sender may not reach
		return left, &Error{Kind: Forbidden, Message: fmt.Sprintf("You may notify the Environments %s only, and which Environments this reaches "+
			"is not known: some Triggers of the team take too much of the manager's memory. Nothing was changed. "+
			"Ask your team for smaller Triggers; their condition Ready says which.", strings.Join(o.Grant.Environments, ", "))}
	}
	return left, nil
}

// leftOutResults keep a gate from being green without the tests of these Triggers.
func leftOutResults(left match.LeftOut) []TriggerResult {
	results := make([]TriggerResult, len(left.Names))
	for i, name := range left.Names {
		results[i] = TriggerResult{Trigger: name, Decision: Failed, LeftOut: true, Reason: left.Reason(i), Environment: &v1alpha1.Environment{}}
	}
	return results
}
